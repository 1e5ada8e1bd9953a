import { existsSync, readFileSync } from 'node:fs';
import { fromJSON } from '@grpc/proto-loader';
import { describe, expect, test } from 'vitest';
import { complete, formatLogEntry, parseLogEntry, toMilliseconds, toNanoseconds } from './index.ts';
import { criDescriptor, criPackage } from './proto.ts';
import { enums, messages, services } from './schema.ts';

interface Facts {
  services: Record<
    string,
    Record<string, { request: string; response: string; responseStream?: boolean }>
  >;
  enums: Record<string, Record<string, number>>;
  messages: Record<
    string,
    Record<string, { type?: string; map?: [string, string]; repeated?: boolean; number: number }>
  >;
}

const factsPath = new URL('../../../shared/api-facts/cri.runtime.v1.json', import.meta.url);

describe.skipIf(!existsSync(factsPath))(
  'the schema is that of Kubernetes 1.36 (skipped where ../shared is absent)',
  () => {
    const facts = existsSync(factsPath)
      ? (JSON.parse(readFileSync(factsPath, 'utf8')) as Facts)
      : { services: {}, enums: {}, messages: {} };
    const isWindows = (text: string | undefined): boolean => /windows/i.test(text ?? '');
    const camel = (name: string): string =>
      name.slice(0, 1) +
      name.slice(1).replace(/_([a-z])(?=[a-z]|$)/g, (_, letter: string) => letter.toUpperCase());

    test('messages', () => {
      const expected = Object.entries(facts.messages)
        .filter(([name]) => !isWindows(name))
        .map(([name, fields]) => [
          name,
          Object.fromEntries(
            Object.entries(fields)
              .filter(([field, { type }]) => !isWindows(field) && !isWindows(type))
              .map(([field, { type, map, repeated, number }]) => [
                camel(field),
                [number, map ? `map<${map.join()}>` : `${type}${repeated ? '[]' : ''}`],
              ]),
          ),
        ]);
      expect(messages).toEqual(Object.fromEntries(expected));
    });

    test('enums', () => {
      expect(enums).toEqual(
        Object.fromEntries(
          Object.entries(facts.enums).map(([name, values]) => [name.split('.').at(-1), values]),
        ),
      );
    });

    test('services', () => {
      const expected = Object.entries(facts.services).map(([service, methods]) => [
        service,
        Object.fromEntries(
          Object.entries(methods).map(([method, { request, response, responseStream }]) => [
            method,
            [request, response, ...(responseStream ? ['stream'] : [])],
          ]),
        ),
      ]);
      expect(services).toEqual(Object.fromEntries(expected));
    });
  },
);

describe('the protobuf description', () => {
  interface Method {
    readonly path: string;
    readonly requestSerialize: (value: object) => Buffer;
    readonly requestDeserialize: (bytes: Buffer) => object;
  }
  const definition = fromJSON(criDescriptor(), {
    longs: Number,
    enums: String,
    defaults: true,
    arrays: true,
    objects: true,
  });
  const method = (service: string, name: string): Method =>
    (definition[`${criPackage}.${service}`] as unknown as Record<string, Method>)[name]!;

  test('every named type exists', () => {
    // protobufjs resolves types when a message is first used.
    for (const [service, methods] of Object.entries(services)) {
      for (const name of Object.keys(methods))
        expect(method(service, name).requestSerialize({})).toEqual(Buffer.alloc(0));
    }
  });

  test('bytes on the wire are those of protobuf', () => {
    const bytes = method('RuntimeService', 'StopContainer').requestSerialize({
      containerId: 'ab',
      timeout: 300,
    });
    expect(bytes.toString('hex')).toBe('0a02616210ac02');
    expect(method('RuntimeService', 'StopContainer').path).toBe(
      '/runtime.v1.RuntimeService/StopContainer',
    );
  });

  test('a whole configuration survives a round trip', () => {
    const config = {
      podSandboxId: 'p',
      config: {
        metadata: { name: 'c', attempt: 2 },
        image: { image: 'busybox' },
        envs: [{ key: 'A', value: Buffer.from('b') }],
        mounts: [
          {
            containerPath: '/a',
            hostPath: '/b',
            readonly: true,
            propagation: 'PROPAGATION_BIDIRECTIONAL' as const,
          },
        ],
        labels: { a: 'b' },
        CDIDevices: [{ name: 'gpu' }],
        linux: {
          resources: { cpuShares: 512, memoryLimitInBytes: 2 ** 52 },
          securityContext: { runAsUser: { value: 0 } },
        },
      },
    };
    const { requestSerialize, requestDeserialize } = method('RuntimeService', 'CreateContainer');
    const back = requestDeserialize(requestSerialize(config));
    expect(complete('CreateContainerRequest', back)).toEqual(
      complete('CreateContainerRequest', config),
    );
    expect(back).toMatchObject(config);
  });
});

test('complete gives zero values at every depth, and leaves absent messages absent', () => {
  const status = complete('ContainerStatus', { id: 'x', mounts: [{ hostPath: '/h' }] });
  expect(status.state).toBe('CONTAINER_CREATED');
  expect(status.labels).toEqual({});
  expect(status.mounts[0]).toMatchObject({
    containerPath: '',
    hostPath: '/h',
    readonly: false,
    propagation: 'PROPAGATION_PRIVATE',
  });
  expect('metadata' in status).toBe(false);
});

test('timestamps survive a round trip to the millisecond', () => {
  for (let ms = 1_767_225_600_000; ms < 1_767_225_602_000; ms++)
    expect(toMilliseconds(toNanoseconds(ms))).toBe(ms);
  expect(toMilliseconds(0)).toBe(0);
});

describe('log entries', () => {
  test('have upstream’s format', () => {
    const ms = Date.UTC(2026, 0, 2, 3, 4, 5, 67);
    expect(formatLogEntry(ms, 'stdout', false, Buffer.from('hello')).toString()).toBe(
      '2026-01-02T03:04:05.067000000Z stdout F hello\n',
    );
    expect(formatLogEntry(ms, 'stderr', true, Buffer.alloc(0)).toString()).toBe(
      '2026-01-02T03:04:05.067000000Z stderr P \n',
    );
  });

  test('are parsed, including their content', () => {
    const entry = parseLogEntry(Buffer.from('2026-01-02T03:04:05.067Z stderr P:x a  b '))!;
    expect(entry).toEqual({
      time: '2026-01-02T03:04:05.067Z',
      stream: 'stderr',
      partial: true,
      content: Buffer.from('a  b '),
    });
    expect(parseLogEntry(Buffer.from('t stdout F'))).toMatchObject({
      partial: false,
      content: Buffer.alloc(0),
    });
  });

  test.each(['', 'hello', 'a b c d', 'a stdout X d', ' stdout F x'])(
    '%j is not an entry',
    (line) => {
      expect(parseLogEntry(Buffer.from(line))).toBeUndefined();
    },
  );
});
