import { describe, expect, test } from 'vitest';
import { SeededRandom } from '#machinery/random.ts';
import {
  decodeFromStorage,
  decodeObject,
  encodeForStorage,
  encodeObject,
  spliceResourceVersion,
} from '../machinery/codec/index.ts';
import { newDefaultScheme } from '../default-scheme.ts';
import type { MessageDescriptor } from '../machinery/descriptor.ts';
import { allSchemas } from '#api/all-schemas.ts';
import { fuzzObject, settlesFirst } from './fuzz.ts';

const SEEDS = 5;

const kinds = allSchemas.schemas
  .flatMap((schema) => allSchemas.messagesOf(schema))
  .filter((message) => message.gvk !== undefined);
const persisted = kinds.filter((message) => {
  const metadata = message.byName.get('metadata');
  return metadata?.type.kind === 'message' && metadata.type.message.key === 'meta/v1.ObjectMeta';
});

function fuzzed(message: MessageDescriptor, seed: number): Record<string, unknown> {
  return fuzzObject(message, new SeededRandom(seed));
}

describe('every kind, filled at random, comes back the same', () => {
  test.each(allSchemas.schemas.map((schema) => schema.key))('%s through JSON', (key) => {
    for (const message of kinds.filter((kind) => kind.key.startsWith(`${key}.`))) {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const object = fuzzed(message, seed);
        const text = Buffer.from(encodeObject(object)).toString();
        const decoded = decodeObject(message, JSON.parse(text));
        expect(decoded.unknownFields).toEqual([]);
        expect({ kind: message.key, seed, text: JSON.stringify(decoded.object) }).toEqual({
          kind: message.key,
          seed,
          text,
        });
      }
    }
  });

  test('through storage', () => {
    for (const message of persisted) {
      const object = fuzzed(message, 1);
      const metadata = object['metadata'] as Record<string, unknown>;
      metadata['name'] ??= 'x';
      const value = encodeForStorage(object);
      const { resourceVersion: _, ...expected } = metadata;
      expect(decodeFromStorage(value, 5)).toEqual({
        ...object,
        metadata: { ...expected, resourceVersion: '5' },
      });
      expect(JSON.parse(Buffer.from(spliceResourceVersion(value, 5)).toString())).toEqual(
        decodeFromStorage(value, 5),
      );
    }
    expect(persisted.length).toBeGreaterThan(60);
  });

  test('through every conversion', () => {
    const scheme = newDefaultScheme();
    let converted = 0;
    for (const from of kinds) {
      for (const to of kinds) {
        if (from === to || !scheme.canConvert(from.gvk!, to.gvk!)) continue;
        for (let seed = 1; seed <= 50; seed++) {
          const there = scheme.convert(fuzzed(from, seed), from.gvk!, to.gvk!);
          const object = settlesFirst(from)
            ? scheme.convert(there, to.gvk!, from.gvk!)
            : fuzzed(from, seed);
          // The result is normalized, and converts back to an equal object.
          expect(decodeObject(to, there)).toEqual({ object: there, unknownFields: [] });
          const again = scheme.convert(object, from.gvk!, to.gvk!);
          expect(scheme.convert(again, to.gvk!, from.gvk!)).toEqual(object);
        }
        converted++;
      }
    }
    expect(converted).toBeGreaterThanOrEqual(2);
  });
});

describe('fuzzObject', () => {
  test('repeats with the same seed', () => {
    const pod = allSchemas.message('core/v1.Pod');
    expect(fuzzed(pod, 7)).toEqual(fuzzed(pod, 7));
    expect(fuzzed(pod, 7)).not.toEqual(fuzzed(pod, 8));
  });

  test('sets every field', () => {
    const container = allSchemas.message('core/v1.Container');
    const seen = new Set<string>();
    for (let seed = 1; seed < 20; seed++)
      for (const key of Object.keys(fuzzed(container, seed))) seen.add(key);
    expect([...seen].sort()).toEqual(container.fields.map((field) => field.name).sort());
  });
});
