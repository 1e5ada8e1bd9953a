// Text lines from a stream of bytes, with a bound on the length of a line.

/** A watch event of a large object is a few megabytes. */
const MAX_LINE = 32 * 1024 * 1024;

/** Yields arrays of complete lines, one array for each piece that arrives. */
export async function* linesOf(
  stream: ReadableStream<Uint8Array>,
  maxLine = MAX_LINE,
): AsyncGenerator<readonly string[]> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > maxLine) throw new Error(`a line is longer than ${maxLine} characters`);
      if (lines.length > 0) yield lines;
      if (done) {
        if (rest !== '') yield [rest];
        return;
      }
    }
  } finally {
    // Ends the request if the consumer stops early; a stream that has failed has nothing to end.
    await reader.cancel().catch(() => undefined);
  }
}
