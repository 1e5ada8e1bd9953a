import { describe, expect, test } from 'vitest';
import { SeededRandom } from '#machinery/random.ts';
import { allSchemas } from '#api/all-schemas.ts';
import { fuzzObject } from '#api/testing/fuzz.ts';
import { goldenObjects } from '#api/testing/golden.ts';
import { decodeObject } from '../decode.ts';
import {
  decodeMessage,
  decodeProtobuf,
  encodeMessage,
  encodeProtobuf,
  isProtobuf,
  openEnvelope,
  ProtobufError,
} from './index.ts';

const pod = allSchemas.message('core/v1.Pod');

describe('protobuf', () => {
  test('writes zero values of fields that are no pointers', () => {
    // {type, status, lastProbeTime, lastTransitionTime, reason, message, observedGeneration}, all
    // zero.
    expect(
      Buffer.from(encodeMessage(allSchemas.message('core/v1.PodCondition'), {})).toString('hex'),
    ).toBe('0a0012001a0022002a0032003800');
  });

  test('encodes embedded structs as separate messages', () => {
    const volume = allSchemas.message('core/v1.Volume');
    const bytes = encodeMessage(volume, { name: 'a', emptyDir: {} });
    expect(Buffer.from(bytes).toString('hex')).toBe('0a0161120412020a00');
    expect(decodeMessage(volume, bytes)).toEqual({ name: 'a', emptyDir: {} });
  });

  test('leaves out unknown fields', () => {
    const bytes = Buffer.concat([
      encodeMessage(pod, { metadata: { name: 'a' } }),
      Buffer.from('9a0603616263a80601', 'hex'),
    ]);
    expect(decodeMessage(pod, bytes)).toMatchObject({ metadata: { name: 'a' } });
  });

  test('leaves out groups, an old form of messages', () => {
    const named = encodeMessage(pod, { metadata: { name: 'a' } });
    const group = Buffer.from('9b06a80601a306080142a4069c06', 'hex');
    expect(() => decodeMessage(pod, Buffer.concat([named, group.subarray(0, 4)]))).toThrow(
      'unexpected EOF',
    );
    for (const hex of ['9b069c06', '9b06a80601a306a4069c06']) {
      const bytes = Buffer.concat([named, Buffer.from(hex, 'hex')]);
      expect(decodeMessage(pod, bytes)).toMatchObject({ metadata: { name: 'a' } });
    }
  });

  test('rejects an envelope without content', () => {
    expect(() => openEnvelope(Buffer.from('k8s\0'))).toThrow('empty body');
  });

  test('rejects invalid messages', () => {
    for (const [hex, message] of [
      ['0a05', 'unexpected EOF'],
      ['00', 'illegal tag'],
      ['0801', 'wrong wireType'],
    ] as const) {
      expect(() => decodeMessage(pod, Buffer.from(hex, 'hex'))).toThrow(message);
    }
    expect(() =>
      decodeMessage(
        allSchemas.message('core/v1.ContainerPort'),
        Buffer.from('10ffffffffffffffff7f', 'hex'),
      ),
    ).toThrow(ProtobufError);
    expect(() => openEnvelope(Buffer.from('{}'))).toThrow(
      'does not appear to be a protobuf message',
    );
  });

  test('rejects endless nesting', () => {
    let schema: object = {};
    for (let i = 0; i < 200; i++) schema = { not: schema };
    const props = allSchemas.message('apiextensions/v1.JSONSchemaProps');
    expect(decodeMessage(props, encodeMessage(props, schema))).toEqual(schema);
    for (let i = 0; i < 100; i++) schema = { not: schema };
    expect(() => decodeMessage(props, encodeMessage(props, schema))).toThrow('exceeded max depth');
  });
});

describe('every kind, filled at random, comes back the same', () => {
  test.each(allSchemas.schemas.map((schema) => schema.key))('%s through protobuf', (key) => {
    const schema = allSchemas.schemas.find((candidate) => candidate.key === key)!;
    for (const message of allSchemas.messagesOf(schema)) {
      // Tables and discovery documents have no protobuf form here.
      if (message.gvk === undefined || message.fields.every(({ number }) => number === 0)) continue;
      for (let seed = 1; seed <= 5; seed++) {
        const object = fuzzObject(message, new SeededRandom(seed));
        const bytes = encodeProtobuf(message, object);
        expect(isProtobuf(bytes)).toBe(true);
        const decoded = decodeProtobuf(message, openEnvelope(bytes));
        expect(decoded).toEqual(object);
        expect(JSON.stringify(decoded)).toBe(JSON.stringify(object));
      }
    }
  });
});

const golden = goldenObjects().filter(({ name }) => !name.endsWith('.after_roundtrip'));
describe.skipIf(golden.length === 0)(
  'golden objects (skipped where ../shared/golden is not at hand)',
  () => {
    test.each(golden)('$name is read and written byte for byte', ({ message, json, protobuf }) => {
      const { object } = decodeObject(message, JSON.parse(json));
      expect(decodeProtobuf(message, openEnvelope(protobuf))).toEqual(object);
      expect(Buffer.from(encodeProtobuf(message, object)).toString('hex')).toBe(
        Buffer.from(protobuf).toString('hex'),
      );
    });
  },
);

test('every list has its metadata as field 1 and its items as field 2, on which list frames rely', () => {
  const lists = allSchemas.schemas
    .flatMap((schema) => allSchemas.messagesOf(schema))
    .filter(({ gvk, byName }) => gvk?.kind.endsWith('List') && byName.has('items'));
  expect(lists.length).toBeGreaterThan(60);
  for (const { key, byName } of lists) {
    const metadata = byName.get('metadata');
    const of = metadata?.type.kind === 'message' ? metadata.type.message.key : undefined;
    expect([key, metadata?.number, of, byName.get('items')?.number]).toEqual([
      key,
      1,
      'meta/v1.ListMeta',
      2,
    ]);
  }
});
