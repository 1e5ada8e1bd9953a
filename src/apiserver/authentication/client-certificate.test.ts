import { describe, expect, test } from 'vitest';
import { authentication } from '../filters/authentication.ts';
import { noBody } from '../http/body-reader.ts';
import { namesOf } from '../http/peer-certificate.ts';
import { RequestState } from '../request-state.ts';
import type { PeerCertificate, UserInfo } from '../request.ts';
import { ClientCertificateAuthenticator } from './client-certificate.ts';

const certificate = (uids?: readonly string[]): PeerCertificate => ({
  commonName: 'jane',
  organizations: ['devs'],
  ...(uids !== undefined && { uids }),
  notAfter: Number.MAX_SAFE_INTEGER,
  fingerprint: 'ab01',
});

const userOf = (
  peerCertificate: PeerCertificate | undefined,
  headers: Readonly<Record<string, string>> = {},
): UserInfo | undefined =>
  new ClientCertificateAuthenticator().authenticate({ peerCertificate, headers });

describe('client certificates', () => {
  test('have the user, its groups, its UID and the certificate itself', () => {
    const extra = { 'authentication.kubernetes.io/credential-id': ['X509SHA256=ab01'] };
    expect(userOf(certificate())).toEqual({ name: 'jane', groups: ['devs'], extra });
    expect(userOf(certificate(['u-1']))).toEqual({
      name: 'jane',
      groups: ['devs'],
      uid: 'u-1',
      extra,
    });
    expect(userOf(undefined)).toBeUndefined();
    expect(userOf({ ...certificate(), isClient: false })).toBeUndefined();
  });

  test.each([
    [{ host: 'api:6443', origin: 'https://api:6443' }, true],
    [{ ':authority': 'api', origin: 'https://api:443' }, true],
    [{ host: 'api:6443', origin: 'https://evil.example' }, false],
    [{ host: 'api:6443', origin: 'http://api:6443' }, false],
    [{ host: 'api:6443', origin: 'https://api:6443.evil.example' }, false],
    // A page in a sandbox, such as that of a pod.
    [{ host: 'api:6443', origin: 'null' }, false],
    [{ origin: 'https://api:6443' }, false],
    // A page of the user's own machine, such as one behind kubectl port-forward.
    [{ host: 'api:6443', origin: 'http://localhost:8080' }, false],
    // Upstream's tests.
    [{ host: 'api:6443', origin: 'http://localhost' }, true],
    // kubectl proxy.
    [{ host: 'api:6443', origin: 'http://localhost:8001', 'x-forwarded-for': '127.0.0.1' }, true],
  ])('of a browser, for a page with the headers %j: %j', (headers, counts) => {
    expect(userOf(certificate(), headers)?.name).toBe(counts ? 'jane' : undefined);
  });

  test.each([[['']], [['u-1', 'u-2']]])('with the UIDs %j identify no user', async (uids) => {
    expect(userOf(certificate(uids))).toBeUndefined();
    const filter = authentication(
      [new ClientCertificateAuthenticator()],
      'all',
    )(() => Promise.reject(new Error('the request came through')));
    const request = (peerCertificate?: PeerCertificate): RequestState =>
      new RequestState({
        method: 'GET',
        path: '/version',
        query: '',
        headers: {},
        body: noBody,
        remoteAddress: '127.0.0.1',
        peerCertificate,
      });
    await expect(filter(request(certificate(uids)))).rejects.toMatchObject({ code: 401 });
    await expect(filter(request())).rejects.toThrow('came through');
  });
});

test('the names of a subject are those of TLS, which may repeat', () => {
  expect(namesOf({ CN: 'jane', O: 'devs', '1.3.6.1.4.1.57683.2': 'u-1' })).toEqual({
    commonName: 'jane',
    organizations: ['devs'],
    uids: ['u-1'],
  });
  expect(namesOf({ CN: ['first', 'last'], O: ['a', 'b'] })).toEqual({
    commonName: 'last',
    organizations: ['a', 'b'],
  });
  expect(namesOf({ O: 'devs' })).toBeUndefined();
  expect(namesOf(undefined)).toBeUndefined();
});
