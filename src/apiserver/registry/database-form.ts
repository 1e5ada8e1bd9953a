// Objects in an etcd that upstream's API servers use, too, now or before or later.
//
//   here       JSON without resourceVersion, which upstream reads
//   upstream   protobuf in its envelope; custom resources as JSON that ends with a line feed
//
// Upstream's form is read, and is stale: the next update writes JSON. Values that are no objects, or
// are encrypted, are left as they are. So is the form of the embedded store, which early versions
// wrote to etcd.

import { allSchemas } from '#api/all-schemas.ts';
import { newDefaultScheme } from '#api/default-scheme.ts';
import { decodeObject, encodeForStorage } from '#api/machinery/codec/index.ts';
import { decodeProtobuf, isProtobuf, openEnvelope } from '#api/machinery/codec/protobuf/index.ts';
import { isStoredForm, jsonOfStored, storedOfJson } from '#api/machinery/codec/stored-json.ts';
import type { MessageDescriptor } from '#api/machinery/descriptor.ts';
import { parseApiVersion } from '#api/machinery/scheme.ts';
import { parseJson } from '#machinery/text/json.ts';
import type { Opened, ValueTransformer } from '#storage/transformed-storage.ts';
import { formerMessage } from './former-versions.ts';

const OPEN_BRACE = 0x7b;
const LINE_FEED = 0x0a;

export const databaseForm: ValueTransformer = {
  seal: (value) => (isStoredForm(value) ? jsonOfStored(value) : value),
  open(stored): Opened {
    if (stored[0] === OPEN_BRACE) {
      const own = stored.at(-1) === LINE_FEED ? undefined : storedOfJson(stored);
      return own === undefined
        ? { value: storedOf(objectOfJson(stored)), stale: true }
        : { value: own, stale: false };
    }
    return isProtobuf(stored)
      ? { value: storedOf(objectOfProtobuf(stored)), stale: true }
      : { value: stored, stale: false };
  },
};

type Members = Readonly<Record<string, unknown>>;
type Draft = Record<string, unknown>;

const scheme = newDefaultScheme();

function objectOfProtobuf(stored: Uint8Array): Members {
  const envelope = openEnvelope(stored);
  const { apiVersion, kind } = envelope;
  const message = messageOf(apiVersion, kind);
  if (message === undefined)
    throw new Error(`no kind "${kind}" is registered for version "${apiVersion}"`);
  return withDefaults(message, decodeProtobuf(message, envelope));
}

/** Objects of custom resources have no schema here: their store normalizes them. */
function objectOfJson(stored: Uint8Array): Members {
  const text = Buffer.from(stored).toString('utf8');
  const object = parseJson(text, { bigints: true, maxDepth: Infinity }) as Members;
  const message = messageOf(String(object['apiVersion'] ?? ''), String(object['kind'] ?? ''));
  if (message === undefined) return object;
  return withDefaults(message, decodeObject<Draft>(message, object).object);
}

/**
 * Sets the defaults, as upstream does whenever it reads an object: its strategies leave out values
 * that it relies on (the phase of a claim), and its protobuf has no types of embedded objects.
 */
function withDefaults({ gvk }: MessageDescriptor, object: Draft): Members {
  if (gvk !== undefined) scheme.codecOf(gvk)?.applyDefaults(object);
  return object;
}

function messageOf(apiVersion: string, kind: string): MessageDescriptor | undefined {
  const groupVersion = parseApiVersion(apiVersion);
  const own = groupVersion && allSchemas.lookup({ ...groupVersion, kind })?.message;
  return own ?? formerMessage(apiVersion, kind);
}

/** An object that upstream keeps for itself, such as a RangeAllocation, may have no metadata. */
function storedOf(object: Members): Uint8Array {
  const metadata = object['metadata'] as Members | undefined;
  const isEmpty = metadata === undefined || Object.keys(metadata).length === 0;
  return encodeForStorage(isEmpty ? { ...object, metadata: { creationTimestamp: null } } : object);
}
