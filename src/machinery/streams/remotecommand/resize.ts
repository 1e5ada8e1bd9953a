// Terminal sizes on the resize stream: one JSON object after the other, {"Width":80,"Height":24}.

import type { Readable } from 'node:stream';
import type { TerminalSize } from './types.ts';

/** The longest text without a complete size. A client that sends more does not send sizes. */
const MAX_PENDING = 4096;

export function encodeSize({ width, height }: TerminalSize): Buffer {
  return Buffer.from(`${JSON.stringify({ Width: width, Height: height })}\n`);
}

function parseSize(text: string): TerminalSize | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { Width: width, Height: height } = value as { Width?: unknown; Height?: unknown };
  const isSize = (number: unknown): number is number =>
    Number.isInteger(number) && Number(number) >= 0 && Number(number) <= 0xffff;
  return isSize(width) && isSize(height) ? { width, height } : undefined;
}

/** Yields the sizes on a stream, until it ends or contains something else. */
export async function* decodeSizes(stream: Readable): AsyncGenerator<TerminalSize, void> {
  let pending = '';
  for await (const chunk of stream) {
    pending += (chunk as Buffer).toString('utf8');
    for (let end = pending.indexOf('}'); end >= 0; end = pending.indexOf('}')) {
      const size = parseSize(pending.slice(0, end + 1));
      if (size === undefined) return;
      pending = pending.slice(end + 1);
      yield size;
    }
    if (pending.length > MAX_PENDING) return;
  }
}
