#!/bin/sh
# Makes the documentation, a gallery of pictures and a report into static pages with a search, by
# MkDocs: tools/site.sh PROGRAM FOLDER. Links that lead nowhere are errors.
set -eu
cd "$(dirname "$0")/.."
program=$1 site=$2
source=$site.source
rm -rf "$source" "$site"
mkdir -p "$source/gallery" "$source/docs"
cp README.md CONTRIBUTING.md CHANGELOG.md "$source"
cp docs/*.md docs/*.svg "$source/docs"
# Pages link to sources, as on a forge.
grep -oh ']([^):#]*)' docs/*.md CONTRIBUTING.md | sed 's,](\(\.\./\)*\(.*\)),\2,' | sort -u | while read -r file; do
    [ -f "$file" ] && [ ! -e "$source/$file" ] || continue
    mkdir -p "$source/$(dirname "$file")"
    cp "$file" "$source/$file"
done

# show TITLE FILE COMMAND...: a command of the gallery, which writes FILE, and what it made.
show() {
    title=$1 file=$2
    shift 2
    (cd "$source/gallery" && "$program" "$@" -q >/dev/null) || exit 1
    [ -n "$title" ] && printf '\n## %s\n\n' "$title" >>"$source/gallery/README.md"
    printf '    commcomp %s\n' "$*" >>"$source/gallery/README.md"
    case $file in
    *.svg) printf '\n![%s](%s)\n\n' "$title" "$file" >>"$source/gallery/README.md" ;;
    *.html) printf '\n[The page](%s)\n\n' "$file" >>"$source/gallery/README.md" ;;
    esac
}
program=$(realpath "$program")
ln -s "$PWD/captured" "$source/gallery/captured"
printf '# Gallery\n\nMade by this version on this machine.\n' >"$source/gallery/README.md"
show 'Smaller or more exact' '' bench --trace captured --no-speed -o bench.json
show '' error.svg plot bench.json --kind error -o error.svg
show 'Which bandwidth decides' '' \
    model --net resnet50 --bw 100mbps,1gbps,10gbps,25gbps,100gbps --compute 100ms \
    --scheme fp32,bf16,int8,int4,powersgd,3lc -o model.json
show '' speedup.svg plot model.json --kind speedup -o speedup.svg
show 'The parts of a step' '' \
    model --net resnet50 --bw 10gbps --compute 100ms --scheme fp32,bf16,int8,int4,powersgd,3lc -o step.json
show '' step.svg plot step.json --kind step -o step.svg
show 'A report to send around' report.html report bench.json -o report.html
rm "$source/gallery/captured"

{
    printf 'site_name: commcomp\ndocs_dir: %s\nsite_dir: %s\nstrict: true\ntheme: readthedocs\nnav:\n' \
        "$(realpath "$source")" "$(realpath -m "$site")"
    printf '  - Overview: README.md\n  - Gallery: gallery/README.md\n  - Questions: docs/README.md\n'
    for page in docs/*.md; do
        [ "$page" = docs/README.md ] || printf '  - %s: %s\n' "$(basename "$page" .md)" "$page"
    done
    printf '  - Contributing: CONTRIBUTING.md\n  - Changes: CHANGELOG.md\n'
} >"$site.yml"
mkdocs build --quiet --config-file "$site.yml"
echo "$site/index.html"
