import { describe, expect, test } from 'vitest';
import { parseImageConfig } from './image-config.ts';
import { familiarName, isImageId, parseReference } from './reference.ts';
import { hiddenPath } from './unpack.ts';

const digest = `sha256:${'0a'.repeat(32)}`;

describe('names of images', () => {
  test.each([
    ['busybox', 'docker.io/library/busybox', 'latest', undefined],
    ['team/app:v1', 'docker.io/team/app', 'v1', undefined],
    ['localhost:5000/app', 'localhost:5000/app', 'latest', undefined],
    ['registry.example/a/b@' + digest, 'registry.example/a/b', undefined, digest],
    ['registry.example/a/b:v2@' + digest, 'registry.example/a/b', 'v2', digest],
  ])('%s', (name, full, tag, digestOf) => {
    const reference = parseReference(name);
    expect(familiarName(reference)).toBe(full);
    expect(reference).toMatchObject({ tag, digest: digestOf });
  });

  test.each([
    '',
    'UPPER',
    'a b',
    'app:',
    'app@sha256:12',
    '../x',
    'a//b',
    'host.example/',
    'a:b:c',
  ])('rejects %j', (name) =>
    expect(() => parseReference(name)).toThrow('invalid reference format'),
  );

  test('an ID is a digest without a name', () => {
    expect(isImageId(digest)).toBe(true);
    expect(isImageId('ab'.repeat(32))).toBe(true);
    expect(isImageId(`app@${digest}`)).toBe(false);
  });
});

describe('what a layer hides', () => {
  test.each([
    ['./etc/.wh.passwd', ['d', '/etc/passwd']],
    ['etc/.wh..wh..opq', ['o', '/etc']],
    ['.wh.tmp', ['d', '/tmp']],
  ])('%s', (name, hidden) => expect(hiddenPath(name)).toEqual(hidden));

  test.each(['etc/passwd', '../.wh.x', 'a/../../.wh.x', '.wh..wh..opq', 'a/.wh.', 'a/.wh...'])(
    'nothing: %s',
    (name) => expect(hiddenPath(name)).toBeUndefined(),
  );
});

test('a configuration with wrong types is empty', () => {
  expect(parseImageConfig({ config: { Env: 'A=1', Cmd: [1], User: {} } })).toMatchObject({
    env: [],
    cmd: [],
    user: '',
  });
  expect(parseImageConfig(null).entrypoint).toEqual([]);
  expect(parseImageConfig({ config: { Cmd: ['sh'], User: '5' } })).toMatchObject({
    cmd: ['sh'],
    user: '5',
  });
});
