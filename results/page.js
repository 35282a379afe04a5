/* Sorts and filters the tables of a page, shows values of its pictures, and saves its results. */
"use strict";
(function () {
  function element(name, attributes, text) {
    var e = document.createElement(name);
    for (var key in attributes) e.setAttribute(key, attributes[key]);
    if (text !== undefined) e.textContent = text;
    return e;
  }

  /* The values of a row in the order of sorting: numbers, then texts, then nothing. */
  function rank(v) {
    return v === null || v === undefined ? 2 : typeof v === "string" ? 1 : 0;
  }
  function compare(a, b) {
    if (rank(a) !== rank(b)) return rank(a) - rank(b);
    if (rank(a) === 1) return a.localeCompare(b, "en", { numeric: true });
    return rank(a) === 0 ? a - b : 0;
  }

  function makeTable(section, data) {
    var table = section.querySelector("table.rows");
    if (!table) return;
    var body = table.tBodies[0], heads = Array.from(table.tHead.rows[0].cells);
    var rows = Array.from(body.rows);
    var filter = element("input", { type: "search", placeholder: "words of the rows to show" });
    var count = element("output", { class: "count" });

    function sort(head) {
      var key = head.dataset.key;
      var next = { none: "ascending", ascending: "descending", descending: "none" };
      var order = next[head.getAttribute("aria-sort")];
      heads.forEach(function (h) { h.setAttribute("aria-sort", "none"); });
      head.setAttribute("aria-sort", order);
      var sorted = rows.slice();
      if (order !== "none") {
        var index = new Map(rows.map(function (row, i) { return [row, i]; }));
        sorted.sort(function (a, b) {
          var x = data.rows[index.get(a)][key], y = data.rows[index.get(b)][key];
          /* Empty cells are last in either direction. */
          var sign = order === "descending" && rank(x) < 2 && rank(y) < 2 ? -1 : 1;
          return sign * compare(x, y) || index.get(a) - index.get(b);
        });
      }
      sorted.forEach(function (row) { body.appendChild(row); });
    }

    function show() {
      var words = filter.value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0;
      rows.forEach(function (row) {
        var text = Array.from(row.cells, function (c) { return c.textContent; }).join("\n").toLowerCase();
        var fits = words.every(function (word) { return text.includes(word); });
        row.classList.toggle("hidden", !fits);
        shown += fits;
      });
      count.textContent = (words.length ? shown + " of " : "") + rows.length + (rows.length === 1 ? " row" : " rows");
    }

    heads.forEach(function (head) {
      var button = element("button", { type: "button" });
      while (head.firstChild) button.appendChild(head.firstChild);
      head.appendChild(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", function () { sort(head); });
    });

    /* A cell's value with all its digits. */
    table.addEventListener("mouseover", function (event) {
      var cell = event.target.closest("tbody td, tbody th");
      if (!cell || cell.title) return;
      var key = heads[cell.cellIndex].dataset.key;
      var value = data.rows[rows.indexOf(cell.parentNode)][key];
      cell.title = key + ": " + (value === null ? "none" : value);
    });

    var label = element("label", {}, "Filter ");
    label.appendChild(filter);
    filter.addEventListener("input", show);
    var tools = element("div", { class: "tools" });
    tools.append(label, count);
    var before = section.querySelector("input.all") || table.parentNode;
    before.parentNode.insertBefore(tools, before);
    show();
  }

  /* Shows a picture's values below it, also where nothing can point without touching. */
  function makePicture(section) {
    var figure = section.querySelector("figure");
    if (!figure) return;
    var caption = figure.querySelector("figcaption"), chosen = null;
    caption.setAttribute("aria-live", "polite");
    function show(event) {
      var value = event.target.closest("g.value");
      if (!value) return;
      if (chosen) chosen.classList.remove("chosen");
      chosen = value;
      chosen.classList.add("chosen");
      caption.textContent = value.querySelector("title").textContent;
    }
    figure.addEventListener("mouseover", show);
    figure.addEventListener("click", show);
  }

  function makeSaving(section, element_, text) {
    var name = element_.dataset.name.replace(/\.[^.]*$/, "") + ".json";
    var button = element("button", { type: "button" }, "Save " + name);
    button.addEventListener("click", function () {
      var link = element("a", { download: name });
      link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      link.click();
      URL.revokeObjectURL(link.href);
    });
    var tools = element("div", { class: "tools" });
    tools.appendChild(button);
    section.appendChild(tools);
  }

  document.querySelectorAll("section.result").forEach(function (section) {
    var holder = section.querySelector("script.commcomp-result");
    var data = JSON.parse(holder.textContent);
    makeTable(section, data);
    makePicture(section);
    makeSaving(section, holder, holder.textContent);
  });

  /* Print has all columns explained. */
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (d) { d.open = true; });
  });
})();
