// Formats text as Go's standard library does. Kubernetes' messages are made with fmt and
// encoding/json, and clients compare them: quoted strings and JSON inside messages must be equal.

import { stringifyJson } from './json-integers.ts';

const ESCAPES: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

/** Text that needs no escapes: printable ASCII without quote and backslash. */
const PLAIN = /^[ !#-[\]-~]*$/;

/**
 * Returns a string as `%q` (strconv.Quote) formats it: printable Unicode stays, everything else is
 * escaped.
 */
export function quote(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  // Texts may have megabytes, so printable parts are escaped as wholes: as in JSON.
  let quoted = '"';
  let from = 0;
  for (const match of text.matchAll(UNPRINTABLE)) {
    const [run] = match;
    quoted += JSON.stringify(text.slice(from, match.index)).slice(1, -1);
    for (const character of run) quoted += quoteCharacter(character);
    from = match.index + run.length;
  }
  return `${quoted}${JSON.stringify(text.slice(from)).slice(1)}`;
}

/** Characters that are neither printable nor a space. */
const UNPRINTABLE = /[^ -~\p{L}\p{M}\p{N}\p{P}\p{S}]+/gu;

function quoteCharacter(character: string): string {
  const escape = ESCAPES[character];
  if (escape !== undefined) return escape;
  const code = character.codePointAt(0)!;
  if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, '0')}`;
  // UTF-8 cannot encode a lone surrogate; Go has the replacement character there.
  if (code >= 0xd800 && code <= 0xdfff) return '�';
  return code > 0xffff
    ? `\\U${code.toString(16).padStart(8, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`;
}

/**
 * Returns JSON as Go's json.Marshal does: <, >, &, U+2028 and U+2029 are escaped. Keys keep their
 * order (the order of a struct's fields). Undefined is null.
 */
export function marshalJson(value: unknown): string {
  const text: string | undefined = stringifyJson(value);
  if (text === undefined) return 'null';
  return text.replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Returns a JSON value as `%v` formats Go's maps and slices: 'map[a:1 b:[x y]]', keys sorted. */
export function formatValue(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map((item) => formatValue(item)).join(' ')}]`;
  if (typeof value === 'string') return value;
  if (typeof value !== 'object') return stringifyJson(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `map[${entries.map(([key, item]) => `${key}:${formatValue(item)}`).join(' ')}]`;
}

/** Returns a double as Go's %v prints it: with an exponent below 1e-4 and from a million on. */
export function formatDouble(value: number): string {
  if (value === 0) return '0';
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}
