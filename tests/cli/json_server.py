"""Evaluates the checks of a script's JSON (`json` in lib.sh), all in one process, as Python takes longer to
start than to check. A request is "FILE\\nEXPRESSION\\0" in the pipe json.ask; the answer, a line in the pipe
json.answer, is empty if the expression holds for the document d.

usage: json_server.py PID    ends with that process"""
import json
import os
import select
import sys


def answer(path, expression):
    try:
        with open(path, encoding="utf-8") as f:
            document = json.load(f)
        return "" if eval(expression, {"d": document, "json": json}) else "it is false"
    except Exception as e:  # whatever is wrong with the document or the expression
        return repr(e).replace("\n", " ")


def main():
    # Open for both, so that neither pipe ever ends.
    ask, tell = os.open("json.ask", os.O_RDWR), os.open("json.answer", os.O_RDWR)
    text = b""
    while os.path.exists("/proc/" + sys.argv[1]):
        if not select.select([ask], [], [], 2)[0]:
            continue
        text += os.read(ask, 65536)
        while b"\0" in text:
            request, text = text.split(b"\0", 1)
            os.write(tell, (answer(*request.decode().split("\n", 1)) + "\n").encode())


main()
