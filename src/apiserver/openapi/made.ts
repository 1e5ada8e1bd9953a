// Encodes documents as bytes, with their hash. This is done in steps, since a document may be
// large.

import { createHash } from 'node:crypto';
import { isPlainObject } from '#machinery/deep.ts';
import type { Steps } from '#machinery/turn.ts';
import type { OpenApiDocument } from './served-document.ts';

/** The depth of definitions and paths in a document, where it is split. */
const SPLIT_DEPTH = 3;
/** The length of a step, in characters. */
const STEP_LENGTH = 256 * 1024;

/** Returns the document as JSON. `algorithm`: the algorithm of its hash. */
export function* jsonDocument(
  document: unknown,
  algorithm: 'sha256' | 'sha512' = 'sha256',
): Steps<OpenApiDocument> {
  const hash = createHash(algorithm);
  const parts: Buffer[] = [];
  let pending: string[] = [];
  let length = 0;
  for (const text of piecesOf(document, SPLIT_DEPTH)) {
    pending.push(text);
    length += text.length;
    if (length < STEP_LENGTH) continue;
    const bytes = Buffer.from(pending.join(''), 'utf8');
    hash.update(bytes);
    parts.push(bytes);
    [pending, length] = [[], 0];
    yield;
  }
  const last = Buffer.from(pending.join(''), 'utf8');
  hash.update(last);
  return {
    bytes: parts.length === 0 ? last : Buffer.concat([...parts, last]),
    hash: hexOf(hash.digest()),
  };
}

/** Yields the output of JSON.stringify in pieces. */
function* piecesOf(value: unknown, depth: number): Generator<string> {
  if (depth === 0 || !isPlainObject(value)) {
    yield JSON.stringify(value);
    return;
  }
  let before = '{';
  for (const [key, item] of Object.entries(value)) {
    if (item === undefined) continue;
    yield `${before}${JSON.stringify(key)}:`;
    yield* piecesOf(item, depth - 1);
    before = ',';
  }
  yield before === '{' ? '{}' : '}';
}

export function sha256(data: string | Uint8Array): string {
  return hexOf(createHash('sha256').update(data).digest());
}

function hexOf(digest: Buffer): string {
  return digest.toString('hex').toUpperCase();
}

/**
 * Returns the document that is kept under a key. It is built once for all requests that wait for
 * it. An error is kept, too.
 */
export function kept<K extends object>(
  documents: {
    get(key: K): Promise<OpenApiDocument> | undefined;
    set(key: K, document: Promise<OpenApiDocument>): unknown;
  },
  key: K,
  make: () => Promise<OpenApiDocument>,
): Promise<OpenApiDocument> {
  let document = documents.get(key);
  if (document === undefined) {
    document = make();
    documents.set(key, document);
  }
  return document;
}
