// URLs: url('https://example.com/path'), isURL, and their parts.

import { quote } from '#machinery/text/go-format.ts';
import { traversesFirst } from '../cost.ts';
import { global, member, type Library, type Overload } from '../declarations.ts';
import { evaluationError } from '../errors.ts';
import { countCharacters } from '../work-limit.ts';
import { BOOL, list, map, opaque, STRING, typeOf, type Type } from '../types.ts';
import { MapValue, OpaqueValue, TypeValue } from '../values.ts';
import { hostname, parseQuery, parseUrl, port, UrlError, type ParsedUrl } from './url-text.ts';

const URL_TYPE = opaque('kubernetes.URL');

class URLValue extends OpaqueValue {
  readonly text: string;
  readonly parts: ParsedUrl;

  constructor(text: string, parts: ParsedUrl) {
    super();
    this.text = text;
    this.parts = parts;
  }

  get type(): Type {
    return URL_TYPE;
  }

  equals(other: URLValue): boolean {
    return this.text === other.text;
  }
}

/** Returns the reason why a text is not a URL, with Go's message; undefined if it is one. */
export function urlProblem(text: string): string | undefined {
  try {
    parseUrl(text, false);
    return undefined;
  } catch (error) {
    if (!(error instanceof UrlError)) throw error;
    return `parse ${quote(text)}: ${error.message}`;
  }
}

function parse(text: string): URLValue {
  const problem = urlProblem(text);
  if (problem !== undefined)
    throw evaluationError(`URL parse error during conversion from string: ${problem}`);
  return new URLValue(text, parseUrl(text, true));
}

const part = (id: string, read: (parts: ParsedUrl) => string): Overload[] => [
  member(id, [URL_TYPE], STRING, (it: URLValue) => read(it.parts)),
];

export const urlLibrary: Library = {
  name: 'kubernetes.urls',
  constants: {
    'kubernetes.URL': { type: typeOf(URL_TYPE), value: new TypeValue('kubernetes.URL') },
  },
  functions: {
    url: [global('string_to_url', [STRING], URL_TYPE, parse, traversesFirst)],
    isURL: [
      global('is_url_string', [STRING], BOOL, (text: string) => {
        countCharacters(text);
        return urlProblem(text) === undefined;
      }),
    ],
    getScheme: part('url_get_scheme', ({ scheme }) => scheme),
    getHost: part('url_get_host', ({ host }) => host),
    getHostname: part('url_get_hostname', ({ host }) => hostname(host)),
    getPort: part('url_get_port', ({ host }) => port(host)),
    getEscapedPath: part('url_get_escaped_path', ({ escapedPath }) => escapedPath),
    getQuery: [
      member('url_get_query', [URL_TYPE], map(STRING, list(STRING)), (it: URLValue) =>
        MapValue.of(parseQuery(it.parts.query)),
      ),
    ],
  },
};
