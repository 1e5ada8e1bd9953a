// The message that is stored with each value: the encrypted source of its key, the plugin's name of
// the key that encrypted the source, and the encrypted value.

import { createHash } from 'node:crypto';
import { messageCodec } from '#machinery/grpc/message-codec.ts';
import { isDNS1123Label, isDNS1123Subdomain } from '#machinery/validation/validation.ts';
import { type EncryptedObject, envelopeSchema } from './schema.ts';

const MAX_ANNOTATIONS_BYTES = 32 * 1024;
const MAX_KEY_ID_BYTES = 1024;
const MAX_SOURCE_BYTES = 1024;

/** All of an envelope but the value: the same for all values of one key. */
export type KeyEnvelope = Omit<EncryptedObject, 'encryptedData'>;

const codec = messageCodec(envelopeSchema, 'EncryptedObject');

export function encodeEnvelope(envelope: KeyEnvelope, encryptedData: Uint8Array): Buffer {
  return codec.encode({ ...envelope, encryptedData });
}

/** Throws if the bytes are no valid envelope. */
export function decodeEnvelope(bytes: Uint8Array): EncryptedObject {
  const envelope = codec.decode(bytes);
  if (typeof envelope.encryptedDekSourceType !== 'string')
    throw new Error(`unknown encryptedDEKSourceType: ${String(envelope.encryptedDekSourceType)}`);
  if (envelope.encryptedData.length === 0) throw new Error('encrypted data is empty');
  checkEnvelope(envelope);
  return envelope;
}

/** Checks what a plugin returned, and what is stored. Throws. */
export function checkEnvelope({ encryptedDekSource, keyId, annotations }: KeyEnvelope): void {
  const { length } = encryptedDekSource;
  const source = 'failed to validate encrypted DEK source: encrypted DEK source is';
  if (length === 0) throw new Error(`${source} empty`);
  if (length > MAX_SOURCE_BYTES)
    throw new Error(`${source} ${length} bytes, which exceeds the max size of ${MAX_SOURCE_BYTES}`);
  const problem = keyIdProblem(keyId);
  if (problem !== undefined) throw new Error(`failed to validate key id: ${problem.message}`);
  checkAnnotations(annotations);
}

/** Returns what is wrong with a plugin's name of a key; `code`: for metrics. */
export function keyIdProblem(
  keyId: string,
): { readonly code: 'empty' | 'too_long'; readonly message: string } | undefined {
  const length = Buffer.byteLength(keyId);
  if (length === 0) return { code: 'empty', message: 'keyID is empty' };
  if (length <= MAX_KEY_ID_BYTES) return undefined;
  const message = `keyID is ${length} bytes, which exceeds the max size of ${MAX_KEY_ID_BYTES}`;
  return { code: 'too_long', message };
}

function checkAnnotations(annotations: Readonly<Record<string, Uint8Array>>): void {
  const entries = Object.entries(annotations);
  const wrong = entries.find(([name]) => !isFullyQualified(name));
  if (wrong !== undefined)
    throw new Error(
      `failed to validate annotations: annotations: Invalid value: ${JSON.stringify(wrong[0])}: ` +
        'should be a domain with at least two segments separated by dots',
    );
  const size = entries.reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + value.length,
    0,
  );
  if (size > MAX_ANNOTATIONS_BYTES)
    throw new Error(
      `failed to validate annotations: total size of annotations is ${size}, which exceeds the ` +
        `max size of ${MAX_ANNOTATIONS_BYTES}`,
    );
}

function isFullyQualified(text: string): boolean {
  const name = text.replace(/\.$/, '');
  const labels = name.split('.');
  return (
    isDNS1123Subdomain(name).length === 0 &&
    labels.length >= 2 &&
    labels.every((label) => isDNS1123Label(label).length === 0)
  );
}

/** Returns a text that is the same for envelopes of the same key, and for no others. */
export function keyOf(envelope: KeyEnvelope): string {
  const { encryptedDekSourceType, encryptedDekSource, keyId, annotations } = envelope;
  const hash = createHash('sha256');
  const add = (part: Uint8Array): void => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(part.length);
    hash.update(length).update(part);
  };
  hash.update(`${encryptedDekSourceType} `);
  add(encryptedDekSource);
  add(Buffer.from(keyId));
  const sorted = Object.entries(annotations).toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, value] of sorted) {
    add(Buffer.from(name));
    add(value);
  }
  return hash.digest('base64');
}

/** Returns the form in which messages and metrics have names of keys. */
export function keyIdHash(keyId: string): string {
  return keyId === '' ? '' : `sha256:${createHash('sha256').update(keyId).digest('hex')}`;
}
