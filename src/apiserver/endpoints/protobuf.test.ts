import { describe, expect, test } from 'vitest';

import type { ProtobufCodec } from '#api/machinery/codec/object-codec.ts';
import {
  decodeMessage,
  decodeProtobuf,
  encodeMessage,
  encodeProtobuf,
  messageInEnvelope,
  openEnvelope,
} from '#api/machinery/codec/protobuf/index.ts';
import { allSchemas } from '#api/all-schemas.ts';
import { messageOf } from '#api/testing/message-of.ts';
import { fuzzObject } from '#api/testing/fuzz.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { EncodedWatchEvent } from '../request.ts';
import {
  type Answer,
  handle,
  type RawRequest,
  type RawResponse,
  send,
} from '../testing/requests.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const METADATA = `${PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1`;
const NAMESPACE = '/api/v1/namespaces/default';
const PATH = `${NAMESPACE}/configmaps`;

const t = serverPerTest();

function opened(bytes: Uint8Array): Answer {
  const envelope = openEnvelope(bytes);
  const message = messageOf(envelope.apiVersion, envelope.kind);
  if (message === undefined) throw new Error(`no ${envelope.kind} in ${envelope.apiVersion}`);
  return decodeProtobuf<object>(message, envelope) as Answer;
}

function encodedBody(apiVersion: string, kind: string, object: object): Buffer {
  const message = messageOf(apiVersion, kind);
  if (message === undefined) throw new Error(`no ${kind} in ${apiVersion}`);
  return encodeProtobuf(message, { apiVersion, kind, ...object });
}

const ask = (
  method: string,
  path: string,
  body?: RawRequest['body'],
  accept = PROTOBUF,
): Promise<RawResponse> =>
  send(t.server, {
    method,
    path,
    headers: { accept, 'content-type': PROTOBUF },
    ...(body !== undefined && { body }),
  });

const create = (name: string, data: Record<string, string> = { k: 'v' }): Promise<RawResponse> =>
  ask('POST', PATH, encodedBody('v1', 'ConfigMap', { metadata: { name }, data }));

describe('responses in protobuf', () => {
  test('are the same objects as in JSON', async () => {
    const created = await create('a');
    expect(created).toMatchObject({ code: 201, headers: { 'content-type': PROTOBUF } });
    const { json } = await send(t.server, { path: `${PATH}/a` });
    expect(opened(created.bytes)).toEqual(json);
    expect(opened((await ask('GET', `${PATH}/a`)).bytes)).toEqual(json);
  });

  test('every resource has the same list as in JSON', async () => {
    await create('a');
    await create('b');
    let count = 0;
    for (const { type, rest } of t.server.catalog.snapshot().publishedKinds()) {
      if (rest.list === undefined) continue;
      const path = `${type.group === '' ? '/api' : `/apis/${type.group}`}/${type.version}/${type.resource}`;
      const list = await ask('GET', path);
      expect(list, path).toMatchObject({ code: 200, headers: { 'content-type': PROTOBUF } });
      const { json } = await send(t.server, { path });
      const decoded = opened(list.bytes);
      const { kind, apiVersion } = decoded;
      const items = json.items.map((item) => item);
      expect({ ...decoded, items: decoded.items ?? [] }, path).toEqual({
        kind,
        apiVersion,
        metadata: json.metadata,
        items,
      });
      expect([kind, apiVersion]).toEqual([json.kind, json.apiVersion]);
      count += items.length;
    }
    expect(count).toBeGreaterThan(5);
  });

  test('long lists are sent in chunks, compressed if the client accepts it', async () => {
    const { gunzipSync } = await import('node:zlib');
    for (let i = 0; i < 5; i++) await create(`long-${i}`, { text: String(i).repeat(150_000) });
    const plain = await ask('GET', PATH);
    expect(plain.headers['content-length']).toBe(String(plain.bytes.length));
    expect(opened(plain.bytes).items.map(({ metadata }) => metadata.name)).toEqual(
      [0, 1, 2, 3, 4].map((i) => `long-${i}`),
    );
    const packed = await send(t.server, {
      path: PATH,
      headers: { accept: PROTOBUF, 'accept-encoding': 'gzip' },
    });
    expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true);
  });

  test('errors are sent in protobuf, too', async () => {
    const { code, headers, bytes } = await ask('GET', `${PATH}/none`);
    expect(code).toBe(404);
    expect(headers['content-type']).toBe(PROTOBUF);
    expect(opened(bytes)).toMatchObject({
      kind: 'Status',
      apiVersion: 'v1',
      reason: 'NotFound',
      code: 404,
      details: { name: 'none', kind: 'configmaps' },
    });
    expect((await ask('GET', '/api/v1/nodes', undefined, 'text/html')).json.reason).toBe(
      'NotAcceptable',
    );
    const invalid = opened((await create('A_')).bytes);
    expect(invalid.details?.causes).toMatchObject([
      { reason: 'FieldValueInvalid', field: 'metadata.name' },
    ]);
  });

  test('may be metadata only', async () => {
    await create('a');
    const one = opened((await ask('GET', `${PATH}/a`, undefined, METADATA)).bytes);
    expect(one).toMatchObject({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { name: 'a' },
    });
    const all = opened(
      (await ask('GET', PATH, undefined, METADATA.replace('Metadata;', 'MetadataList;'))).bytes,
    );
    expect(all).toMatchObject({
      kind: 'PartialObjectMetadataList',
      items: [{ metadata: { name: 'a' } }],
    });
  });

  test('are encoded once for all readers of a state', async () => {
    await create('a');
    const read = async (): Promise<Uint8Array> => {
      const { body, format } = await handle(t.server, {
        path: `${PATH}/a`,
        headers: { accept: PROTOBUF },
      });
      if (body.kind !== 'object') throw new Error('no object');
      return body.object.protobuf(format?.protobuf);
    };
    const first = await read();
    expect(await read()).toBe(first);
    const { body, format } = await handle(t.server, { path: PATH, headers: { accept: PROTOBUF } });
    if (body.kind !== 'list') throw new Error('no list');
    expect(body.items[0]?.protobuf(format?.protobuf)).toBe(first);
    await ask(
      'PUT',
      `${PATH}/a`,
      encodedBody('v1', 'ConfigMap', { metadata: { name: 'a' }, data: { k: 'w' } }),
    );
    expect(opened(await read()).data).toEqual({ k: 'w' });
  });
});

describe('watches in protobuf', () => {
  /** Returns the first events of the watch, decoded from their frames. */
  type Frames = (count: number) => Promise<{ events: EncodedWatchEvent[]; decoded: unknown[] }>;

  async function watch(accept: string): Promise<Frames> {
    const { body, format } = await handle(t.server, {
      path: `${PATH}?watch=1`,
      headers: { accept },
    });
    if (body.kind !== 'watch') throw new Error('no watch');
    expect(format?.mediaType).toBe(PROTOBUF);
    return (count) => frames(body.events, count, format?.protobuf);
  }

  async function frames(
    stream: AsyncIterable<EncodedWatchEvent>,
    count: number,
    codec: ProtobufCodec | undefined,
  ): ReturnType<Frames> {
    const events: EncodedWatchEvent[] = [];
    for await (const event of stream) if (events.push(event) === count) break;
    const decoded = events.map((event) => {
      const frame = Buffer.from(event.protobufFrame(codec));
      expect(frame.readUInt32BE(0)).toBe(frame.length - 4);
      // Field 1 is the type. Field 2 is a message, whose field 1 is the object in its envelope.
      const outer = frame.subarray(4);
      expect([outer[0], outer[1], outer.toString('latin1', 2, 2 + event.type.length)]).toEqual([
        0x0a,
        event.type.length,
        event.type,
      ]);
      return opened(outer.subarray(outer.indexOf('k8s\0', 0, 'latin1')));
    });
    return { events, decoded };
  }

  test('are frames with a length prefix, shared by all watchers', async () => {
    await create('a');
    const watching = [await watch(`${PROTOBUF};stream=watch`), await watch(PROTOBUF)];
    await create('b');
    await ask('DELETE', `${PATH}/b`);
    const [one, other] = await Promise.all(watching.map((read) => read(3)));
    expect(one?.events.map(({ type }) => type)).toEqual(['ADDED', 'ADDED', 'DELETED']);
    expect(one?.decoded).toMatchObject([
      { metadata: { name: 'a' } },
      { metadata: { name: 'b' } },
      { metadata: { name: 'b' } },
    ]);
    expect(other?.events[1]?.protobufFrame()).toBe(one?.events[1]?.protobufFrame());
    expect(other?.events[2]?.protobufFrame()).toBe(one?.events[2]?.protobufFrame());
    // The deletion has a revision of its own.
    const [, added, deleted] = (one?.decoded ?? []) as Answer[];
    expect(Number(deleted?.metadata.resourceVersion)).toBeGreaterThan(
      Number(added?.metadata.resourceVersion),
    );
  });

  test('of metadata are shared, too', async () => {
    await create('a');
    const watching = [await watch(METADATA), await watch(METADATA)];
    await create('b');
    const [one, other] = await Promise.all(watching.map((read) => read(2)));
    expect(one?.decoded[1]).toMatchObject({
      kind: 'PartialObjectMetadata',
      metadata: { name: 'b' },
    });
    expect(other?.events[1]?.protobufFrame()).toBe(one?.events[1]?.protobufFrame());
  });

  test('have the content type of streams', async () => {
    const { respond } = await import('../http/respond.ts');
    const { Writable } = await import('node:stream');
    const abort = new AbortController();
    const { rawRequest } = await import('../testing/requests.ts');
    const request = rawRequest(
      { path: `${PATH}?watch=1`, headers: { accept: `${PROTOBUF};stream=watch` } },
      abort.signal,
    );
    const response = await t.server.handler(request);
    let type: unknown;
    const writable = new Writable({ write: (_chunk, _encoding, callback) => callback() });
    const sending = respond(request, response, {
      writable,
      open: true,
      begin: (_code, headers) => (type = headers['content-type']),
      whole: () => undefined,
    });
    abort.abort();
    await sending;
    expect(type).toBe('application/vnd.kubernetes.protobuf;stream=watch');
  });
});

describe('bodies in protobuf', () => {
  const pod = {
    metadata: { name: 'p' },
    spec: { schedulerName: 'none', containers: [{ name: 'c', image: 'i' }] },
  };

  test('DeleteOptions', async () => {
    await create('a');
    const options = (uid: string): Buffer =>
      encodedBody('v1', 'DeleteOptions', { preconditions: { uid } });
    expect((await ask('DELETE', `${PATH}/a`, options('other'))).code).toBe(409);
    const { uid } = opened((await ask('GET', `${PATH}/a`)).bytes).metadata;
    expect((await ask('DELETE', `${PATH}/a`, options(uid ?? ''))).code).toBe(200);
  });

  test('Eviction, reviews and tables of other kinds', async () => {
    expect((await ask('POST', `${NAMESPACE}/pods`, encodedBody('v1', 'Pod', pod))).code).toBe(201);
    const eviction = encodedBody('policy/v1', 'Eviction', {
      metadata: { name: 'p', namespace: 'default' },
    });
    const evicted = await ask('POST', `${NAMESPACE}/pods/p/eviction`, eviction);
    expect(evicted.code).toBe(201);
    expect(opened(evicted.bytes)).toMatchObject({ kind: 'Status', status: 'Success' });
    const review = encodedBody('authorization.k8s.io/v1', 'SelfSubjectAccessReview', {
      spec: { resourceAttributes: { verb: 'get', resource: 'pods' } },
    });
    const answer = await ask(
      'POST',
      '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      review,
    );
    expect(opened(answer.bytes).status).toMatchObject({ allowed: true });
  });

  test('cannot be patches', async () => {
    await create('a');
    expect(
      (await ask('PATCH', `${PATH}/a`, encodedBody('v1', 'ConfigMap', { metadata: { name: 'a' } })))
        .code,
    ).toBe(415);
    const patched = await send(t.server, {
      method: 'PATCH',
      path: `${PATH}/a`,
      headers: { accept: PROTOBUF, 'content-type': 'application/merge-patch+json' },
      body: { data: { p: 'q' } },
    });
    expect(opened(patched.bytes).data).toEqual({ k: 'v', p: 'q' });
  });

  test('of another kind, or without one, are rejected', async () => {
    expect(
      opened(
        (await ask('POST', PATH, encodedBody('v1', 'Secret', { metadata: { name: 'a' } }))).bytes,
      ),
    ).toMatchObject({
      code: 400,
      message:
        'Secret in version "v1" cannot be handled as a ConfigMap: converting (v1.Secret) to ' +
        '(core.ConfigMap): unknown conversion',
    });
    expect(
      (
        await ask(
          'DELETE',
          `${PATH}/a`,
          encodedBody('v1', 'ConfigMap', { metadata: { name: 'a' } }),
        )
      ).code,
    ).toBe(400);
  });

  test('with any content never cause an error 500', async () => {
    const random = new SeededRandom('bodies');
    const below = (limit: number): number => Math.floor(random.float() * limit);
    const targets = [
      ['POST', PATH, 'v1', 'ConfigMap'],
      ['POST', `${NAMESPACE}/pods`, 'v1', 'Pod'],
      ['PUT', '/api/v1/nodes/n', 'v1', 'Node'],
      ['POST', `${NAMESPACE}/services`, 'v1', 'Service'],
      ['POST', '/apis/apps/v1/namespaces/default/replicasets', 'apps/v1', 'ReplicaSet'],
      [
        'POST',
        '/apis/coordination.k8s.io/v1/namespaces/default/leases',
        'coordination.k8s.io/v1',
        'Lease',
      ],
      ['POST', `${NAMESPACE}/events`, 'v1', 'Event'],
      ['POST', `${NAMESPACE}/pods/p/eviction`, 'policy/v1', 'Eviction'],
      ['POST', `${NAMESPACE}/pods/p/binding`, 'v1', 'Binding'],
      ['PUT', '/apis/apps/v1/namespaces/default/replicasets/r/scale', 'autoscaling/v1', 'Scale'],
      ['DELETE', `${PATH}/none`, 'v1', 'DeleteOptions'],
    ] as const;
    const refused = new Map<number, number>();
    for (let i = 0; i < 3000; i++) {
      const [method, path, apiVersion, kind] = targets[i % targets.length]!;
      const message = messageOf(apiVersion, kind)!;
      const body = Buffer.from(
        encodeProtobuf(message, { ...fuzzObject(message, random), apiVersion, kind }),
      );
      for (let changes = 1 + below(4); changes > 0; changes--)
        body[4 + below(body.length - 4)] = below(256);
      const cut = random.float() < 0.2 ? body.subarray(0, below(body.length)) : body;
      const { code, json } = await ask(method, path, cut, 'application/json');
      if (code >= 500)
        expect([method, path, cut.toString('hex'), json.message]).toEqual('an answer below 500');
      refused.set(code, (refused.get(code) ?? 0) + 1);
    }
    expect(refused.get(400)).toBeGreaterThan(500);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('with invalid times and free-form values', () => {
    const meta = allSchemas.message('meta/v1.ObjectMeta');
    // creationTimestamp is field 8, a message with 2^53 - 1 seconds.
    expect(() => decodeMessage(meta, Buffer.from('420908ffffffffffffff0f', 'hex'))).toThrow(
      'time out of range',
    );
    const revision = allSchemas.message('apps/v1.ControllerRevision');
    let data: unknown[] = [];
    for (let depth = 0; depth < 1000; depth++) data = [data];
    expect(() => decodeMessage(revision, encodeMessage(revision, { data }))).toThrow(
      'exceeded max depth',
    );
    expect(
      decodeMessage(
        revision,
        messageInEnvelope(encodeProtobuf(revision, { data: { __proto__: null, a: 1 } })),
      ),
    ).toMatchObject({
      data: { a: 1 },
    });
  });
});
