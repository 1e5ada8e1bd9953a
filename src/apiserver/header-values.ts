// The headers of a request, each value by itself, and single headers of a response.

import type { ApiRequest, ApiResponse } from './request.ts';

/** The headers of an ApiRequest. `rawHeaders` is absent for requests inside of the process. */
export type SentHeaders = Pick<ApiRequest, 'headers'> & Partial<Pick<ApiRequest, 'rawHeaders'>>;

/**
 * Yields each value of each header with its name in lower case, as Node read it: sent bytes as
 * Latin 1. A comma does not separate values, since the name of a group may contain one.
 */
export function* headerValues({
  headers,
  rawHeaders,
}: SentHeaders): Generator<readonly [name: string, value: string]> {
  if (rawHeaders === undefined) {
    for (const [name, value] of Object.entries(headers))
      if (value !== undefined) yield [name, value];
    return;
  }
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    yield [rawHeaders[at]!.toLowerCase(), rawHeaders[at + 1]!];
}

/**
 * Yields the values of headers for which `isWanted` returns true, as text. Sent values are UTF-8;
 * those of requests inside of the process are text already.
 */
export function* headerTexts(
  sent: SentHeaders,
  isWanted: (name: string) => boolean = () => true,
): Generator<readonly [name: string, text: string]> {
  for (const [name, value] of headerValues(sent)) {
    if (!isWanted(name)) continue;
    const isText = sent.rawHeaders === undefined;
    yield [name, isText ? value : Buffer.from(value, 'latin1').toString('utf8')];
  }
}

/** Returns a header of a response that has one value: any but set-cookie. */
export function responseHeader(headers: ApiResponse['headers'], name: string): string | undefined {
  const value = headers?.[name];
  return typeof value === 'string' ? value : undefined;
}
