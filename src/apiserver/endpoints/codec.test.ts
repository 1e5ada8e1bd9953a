// Kinds with a codec of their own, without protobuf and strategic merge patches, like custom
// resources.

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DecodeError } from '#api/machinery/codec/index.ts';
import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import { openEnvelope, encodeProtobuf } from '#api/machinery/codec/protobuf/index.ts';
import { newDefaultScheme } from '#api/default-scheme.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import { deduced } from '#api/machinery/managed-fields/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { allSchemas } from '#api/all-schemas.ts';
import { VirtualClock } from '#machinery/clock.ts';
import { SeededRandom } from '#machinery/random.ts';
import { createMemoryStorage } from '#storage/memory/index.ts';
import type { Storage } from '#storage/interface.ts';
import { AdmissionChain } from '../admission/chain.ts';
import { AdmissionMetrics } from '../admission/metrics.ts';
import { Catalog } from '../catalog/catalog.ts';
import type { Kind } from '../catalog/kind.ts';
import { panicRecovery } from '../filters/panic-recovery.ts';
import { requestInfo } from '../filters/request-info.ts';
import { RequestMetrics } from './request-metrics.ts';
import { ResourceStore } from '../registry/resource-store.ts';
import type { Handler } from '../request.ts';
import { type RawRequest, type RawResponse, sendTo } from '../testing/requests.ts';
import { RecordingLogger } from '../testing/server.ts';
import { Router } from './router.ts';

const JSON_TYPE = 'application/json';
const YAML_TYPE = 'application/yaml';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const METADATA = 'as=PartialObjectMetadata;g=meta.k8s.io;v=v1';
const PATH = '/apis/example.com/v1/namespaces/default/widgets';

const widgets: ResourceType = {
  group: 'example.com',
  version: 'v1',
  resource: 'widgets',
  singular: 'widget',
  kind: 'Widget',
  namespaced: true,
  shortNames: [],
  categories: [],
};

/** A codec that keeps its fields, reports `typo` as unknown, and adds a default size. */
const codec: ObjectCodec = {
  kind: { group: 'example.com', version: 'v1', kind: 'Widget' },
  decode(json) {
    const { typo, ...object } = structuredClone(json) as Record<string, unknown>;
    if (typeof object['size'] === 'string') throw new DecodeError('size must be a number', 'size');
    return { object, unknownFields: typo === undefined ? [] : ['typo'] };
  },
  wireForm: (object) => object,
  storedForm: (object) => object,
  emptyObject: () => ({}),
  applyDefaults: (draft) => void (draft['size'] ??= 1),
  mergeType: deduced,
  celType: { kind: 'object', name: 'Widget', fieldNames: () => [], field: () => undefined },
  openApi: { name: 'com.example.v1.Widget', define: () => undefined },
};

interface Widget extends KubeObject {
  readonly size?: number;
}

let storage: Storage;
let handler: Handler;
const logger = new RecordingLogger();

beforeEach(() => {
  const clock = new VirtualClock();
  const random = new SeededRandom('codec');
  storage = createMemoryStorage({ clock, logger });
  const rest = new ResourceStore<Widget>({
    storage,
    clock,
    random,
    type: widgets,
    logger,
    strategy: { validate: () => [], validateUpdate: () => [] },
  });
  const kind: Kind = { type: widgets, codec, rest };
  const admission = new AdmissionChain([], { clock, metrics: new AdmissionMetrics() });
  const catalog = new Catalog();
  catalog.install([kind]);
  const services = {
    scheme: newDefaultScheme(),
    catalog,
    admission,
    authorizer: { authorize: () => ({ decision: 'allow' as const, reason: '' }) },
    clock,
    random,
    minWatchTimeoutMs: 60_000,
  };
  const router = new Router({ services, routes: [], metrics: new RequestMetrics({ clock }) });
  handler = panicRecovery(logger)(requestInfo(router.handle));
});
afterEach(async () => {
  await storage.close();
  expect(logger.errors).toEqual([]);
});

const ask = (raw: RawRequest): Promise<RawResponse> => sendTo(handler, raw);

const create = (body: object | Uint8Array, type = JSON_TYPE, query = ''): Promise<RawResponse> =>
  ask({ method: 'POST', path: `${PATH}${query}`, headers: { 'content-type': type }, body });

const patch = (type: string, body: object): Promise<RawResponse> =>
  ask({
    method: 'PATCH',
    path: `${PATH}/a?fieldManager=me`,
    headers: { 'content-type': type },
    body,
  });

describe('a kind with a codec of its own', () => {
  test('is decoded, defaulted, stored and merged by it', async () => {
    const { code, json } = await create({ metadata: { name: 'a' }, colors: ['red'] });
    expect([code, json]).toMatchObject([
      201,
      { kind: 'Widget', apiVersion: 'example.com/v1', size: 1, colors: ['red'] },
    ]);
    expect((await patch('application/merge-patch+json', { size: 3 })).json).toMatchObject({
      size: 3,
    });
    expect(
      (await patch('application/json-patch+json', [{ op: 'remove', path: '/size' }])).json,
    ).toMatchObject({
      size: 1,
    });
    const applied = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'a' },
      colors: ['blue'],
    };
    expect((await patch('application/apply-patch+yaml', applied)).json).toMatchObject({
      reason: 'Conflict',
      details: { causes: [{ reason: 'FieldManagerConflict', field: '.colors' }] },
    });
  });

  test('reports unknown fields and wrong values as the codec does', async () => {
    const wrong = await create({ metadata: { name: 'a' }, size: 'x' });
    expect([wrong.code, wrong.json.message]).toEqual([
      400,
      'Widget in version "v1" cannot be handled as a Widget: size must be a number',
    ]);
    const strict = await create(
      { metadata: { name: 'a' }, typo: 1 },
      JSON_TYPE,
      '?fieldValidation=Strict',
    );
    expect([strict.code, strict.json.message]).toMatchObject([
      400,
      expect.stringContaining('unknown field "typo"'),
    ]);
    expect((await create({ metadata: { name: 'a' }, typo: 1 })).warnings).toEqual([
      'unknown field "typo"',
    ]);
  });
});

describe('a kind without protobuf', () => {
  beforeEach(async () => void (await create({ metadata: { name: 'a' } })));

  test.each([`${PATH}/a`, PATH, `${PATH}?watch=1`])(
    'answers 406 where nothing else is accepted: %s',
    async (path) => {
      const { code, headers, bytes } = await ask({ path, headers: { accept: PROTOBUF } });
      // Also of a watch, as upstream: the form of an object is chosen first.
      const available = [JSON_TYPE, YAML_TYPE, PROTOBUF].join(', ');
      expect([code, headers['content-type']]).toEqual([406, PROTOBUF]);
      const status = newDefaultScheme()
        .codecOf({ group: '', version: 'v1', kind: 'Status' })
        ?.protobuf?.decode(openEnvelope(bytes));
      expect(status).toMatchObject({
        reason: 'NotAcceptable',
        message: `only the following media types are accepted: ${available}`,
      });
    },
  );

  test.each([
    [`${PROTOBUF}, ${JSON_TYPE}`, JSON_TYPE],
    [`${PROTOBUF}, ${YAML_TYPE}`, YAML_TYPE],
    ['*/*', JSON_TYPE],
  ])('responds in the next accepted form: %s', async (accept, type) => {
    for (const path of [`${PATH}/a`, PATH]) {
      const { code, headers, text } = await ask({ path, headers: { accept } });
      expect([code, headers['content-type']]).toEqual([200, type]);
      expect(text).toContain('Widget');
    }
  });

  test('has its metadata in protobuf', async () => {
    const one = await ask({ path: `${PATH}/a`, headers: { accept: `${PROTOBUF};${METADATA}` } });
    expect([one.code, one.headers['content-type']]).toEqual([200, PROTOBUF]);
    expect(openEnvelope(one.bytes).kind).toBe('PartialObjectMetadata');
    const all = await ask({
      path: PATH,
      headers: { accept: `${PROTOBUF};${METADATA.replace('Metadata;', 'MetadataList;')}` },
    });
    expect([all.code, openEnvelope(all.bytes).kind]).toEqual([200, 'PartialObjectMetadataList']);
  });

  test('is rejected as a body in protobuf, in upstream’s words', async () => {
    const body = encodeProtobuf(allSchemas.message('core/v1.ConfigMap'), {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'b' },
    });
    for (const query of ['', '?fieldValidation=Ignore', '?fieldValidation=Strict']) {
      const { code, json } = await create(body, PROTOBUF, query);
      expect([code, json.reason, json.message]).toEqual([
        400,
        'BadRequest',
        'Widget in version "v1" cannot be handled as a Widget: object ' +
          '*unstructured.Unstructured does not implement the protobuf ' +
          'marshalling interface and cannot be encoded to a protobuf message',
      ]);
    }
    const garbage = await create(Buffer.from('{}'), PROTOBUF);
    expect([garbage.code, garbage.json.message]).toMatchObject([
      400,
      expect.stringContaining('expected prefix [107 56 115 0]'),
    ]);
  });

  test('accepts options of deletions in protobuf', async () => {
    const body = encodeProtobuf(allSchemas.message('meta/v1.DeleteOptions'), {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
    });
    const { code } = await ask({
      method: 'DELETE',
      path: `${PATH}/a`,
      headers: { 'content-type': PROTOBUF },
      body,
    });
    expect(code).toBe(200);
  });

  test('returns the list of media types to a client that accepts none of them', async () => {
    const { code, json } = await ask({ path: PATH, headers: { accept: 'text/html' } });
    expect([code, json.message]).toEqual([
      406,
      `only the following media types are accepted: ${JSON_TYPE}, ${YAML_TYPE}, ${PROTOBUF}`,
    ]);
  });
});

describe('a kind without strategic merge', () => {
  test.each(['application/strategic-merge-patch+json', JSON_TYPE, 'text/plain'])(
    'answers 415 to a patch of %s',
    async (type) => {
      await create({ metadata: { name: 'a' } });
      const { code, json } = await patch(type, { size: 2 });
      expect([code, json.reason, json.message]).toEqual([
        415,
        'UnsupportedMediaType',
        'the body of the request was in an unknown format - accepted media types include: ' +
          'application/json-patch+json, ' +
          'application/merge-patch+json, application/apply-patch+yaml',
      ]);
    },
  );
});
