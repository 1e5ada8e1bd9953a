// Gets a text by HTTP.

/** Headers of a request: a name has one value or several. */
export type HttpHeaders = Readonly<Record<string, readonly string[]>>;

export interface HttpText {
  readonly status: number;
  readonly statusText: string;
  /** '' unless the status is 200. */
  readonly text: string;
}

/** Resolves with the response. Rejects if there is none, or if it has more than `maxBytes`. */
export type GetText = (
  url: string,
  headers: HttpHeaders,
  maxBytes: number,
  signal: AbortSignal,
) => Promise<HttpText>;

/** Follows redirects, as Go's client does. */
export const getText: GetText = async (url, headers, maxBytes, signal) => {
  const response = await fetch(url, {
    headers: Object.entries(headers).flatMap(([name, values]) =>
      values.map((value): [string, string] => [name, value]),
    ),
    signal,
  });
  const { status, statusText, body } = response;
  if (status !== 200) {
    await body?.cancel();
    return { status, statusText, text: '' };
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  // The types of the stream's iterator depend on the environment.
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new Error(`the response is longer than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return { status, statusText, text: Buffer.concat(chunks).toString('utf8') };
};
