// Validates a Content-Type header, with the messages of Go's mime package.

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]*/;
const PARAMETER =
  /^;\s*[!#$%&'*+\-.^_`|~0-9A-Za-z]+\s*=\s*(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"(?:[^"\\]|\\.)*")/;

/** Returns the problem with a header that is not empty; undefined if it is valid. */
export function mediaTypeProblem(header: string): string | undefined {
  const semicolon = header.indexOf(';');
  const type = (semicolon < 0 ? header : header.slice(0, semicolon)).trim();
  const problem = typeProblem(type);
  if (problem !== undefined) return problem;
  let rest = semicolon < 0 ? '' : header.slice(semicolon);
  for (;;) {
    rest = rest.trimStart();
    if (rest === '' || rest.trim() === ';') return undefined;
    const parameter = PARAMETER.exec(rest)?.[0];
    if (parameter === undefined) return 'mime: invalid media parameter';
    rest = rest.slice(parameter.length);
  }
}

function typeProblem(type: string): string | undefined {
  const first = TOKEN.exec(type)?.[0] ?? '';
  if (first === '') return 'mime: no media type';
  if (first === type) return undefined;
  if (type[first.length] !== '/') return 'mime: expected slash after first token';
  const rest = type.slice(first.length + 1);
  const second = TOKEN.exec(rest)?.[0] ?? '';
  if (second === '') return 'mime: expected token after slash';
  return second === rest ? undefined : 'mime: unexpected content after media subtype';
}
