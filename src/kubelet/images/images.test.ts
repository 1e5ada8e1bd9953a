import { describe, expect, test } from 'vitest';
import type { Secret } from '../types.ts';
import { parseImageName, withDefaultTag } from './image-name.ts';
import { credentialsFor } from './pull-credentials.ts';

const DIGEST = `sha256:${'a'.repeat(64)}`;

describe('image names', () => {
  test.each([
    [
      'busybox',
      { registry: 'docker.io', repository: 'library/busybox', tag: undefined, digest: undefined },
    ],
    [
      'team/app:1.2',
      { registry: 'docker.io', repository: 'team/app', tag: '1.2', digest: undefined },
    ],
    [
      'localhost:5000/app',
      { registry: 'localhost:5000', repository: 'app', tag: undefined, digest: undefined },
    ],
    [
      `ghcr.io/a/b/c:v1@${DIGEST}`,
      { registry: 'ghcr.io', repository: 'a/b/c', tag: 'v1', digest: DIGEST },
    ],
  ])('%s', (image, expected) => {
    expect(parseImageName(image)).toEqual(expected);
  });

  test.each([
    ['Busybox', 'repository name (library/Busybox) must be lowercase'],
    ['ghcr.io/A/b:1', 'repository name (A/b) must be lowercase'],
    ['busybox:', 'invalid reference format'],
    ['busybox:a b', 'invalid reference format'],
    ['-x', 'invalid reference format'],
    ['', 'invalid reference format'],
    ['busybox@sha256:short', 'invalid reference format'],
    ['a'.repeat(300), 'must not be more than 255'],
  ])('%j is refused', (image, message) => {
    expect(() => parseImageName(image)).toThrow(message);
  });

  test('get the tag latest if they have none', () => {
    expect(withDefaultTag('busybox')).toBe('busybox:latest');
    expect(withDefaultTag('localhost:5000/app')).toBe('localhost:5000/app:latest');
    expect(withDefaultTag('busybox:1')).toBe('busybox:1');
    expect(withDefaultTag(`busybox@${DIGEST}`)).toBe(`busybox@${DIGEST}`);
  });
});

describe('credentials', () => {
  const secret = (auths: Readonly<Record<string, unknown>>): Secret => ({
    metadata: { name: 's', uid: 'u', resourceVersion: '1', creationTimestamp: '' },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': Buffer.from(JSON.stringify({ auths })).toString('base64') },
  });
  const user = (name: string) => ({ auth: Buffer.from(`${name}:pw:x`).toString('base64') });
  const users = (
    image: string,
    auths: Readonly<Record<string, unknown>>,
  ): readonly (string | undefined)[] =>
    credentialsFor(image, [secret(auths)]).map((auth) => auth.username);

  test.each([
    [
      'ghcr.io/team/app',
      { 'ghcr.io': user('host'), 'ghcr.io/team': user('team'), 'ghcr.io/other': user('other') },
      ['team', 'host'],
    ],
    ['busybox', { 'https://index.docker.io/v1/': user('hub') }, ['hub']],
    ['a.example.com/x', { '*.example.com': user('glob'), 'example.com': user('no') }, ['glob']],
    ['registry:5000/x', { 'registry:5000': user('port'), registry: user('no') }, ['port']],
    ['quay.io/x', {}, []],
  ])('for %s', (image, auths, expected) => {
    expect(users(image, auths)).toEqual(expected);
  });

  test('have the password after the first colon', () => {
    expect(credentialsFor('quay.io/x', [secret({ 'quay.io': user('me') })])[0]).toMatchObject({
      username: 'me',
      password: 'pw:x',
    });
  });

  test('that are malformed are ignored', () => {
    const broken: Secret = {
      ...secret({}),
      data: { '.dockerconfigjson': Buffer.from('{').toString('base64') },
    };
    expect(credentialsFor('quay.io/x', [broken, { ...secret({}), type: 'Opaque' }])).toEqual([]);
  });
});
