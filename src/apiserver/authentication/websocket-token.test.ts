import { expect, test } from 'vitest';

import type { UserInfo } from '../request.ts';
import { RequestTokens } from './request-tokens.ts';
import { hasWebSocketToken, withoutToken } from './websocket-token.ts';

const PREFIX = 'base64url.bearer.authorization.k8s.io.';
const JANE: UserInfo = { name: 'jane', groups: [] };

const authenticator = new RequestTokens([
  { authenticateToken: () => undefined },
  { authenticateToken: () => Promise.resolve(undefined) },
  {
    authenticateToken: (token) => (token === 'sécret' ? { user: JANE, audiences: [] } : undefined),
  },
]);
const encoded = (token: string): string => PREFIX + Buffer.from(token).toString('base64url');
const userOf = (protocols: string, upgrade = 'websocket') =>
  authenticator.authenticate({ headers: { upgrade, 'sec-websocket-protocol': protocols } });

test('the token of a WebSocket identifies its user', async () => {
  expect(await userOf(`${encoded('sécret')}, v5.channel.k8s.io`)).toBe(JANE);
  expect(await userOf(`v5.channel.k8s.io,${encoded('sécret')}`, 'WebSocket')).toBe(JANE);
});

test.each([
  ['another token', `${encoded('other')}, x`],
  ['a token alone: the response could not name another subprotocol', encoded('sécret')],
  ['two tokens', `${encoded('sécret')}, ${encoded('sécret')}, x`],
  ['padding', `${PREFIX}c8OpY3JldA==, x`],
  ['bytes that are not UTF-8', `${PREFIX}_w, x`],
  ['an empty token', `${PREFIX}, x`],
  ['no token', 'v5.channel.k8s.io'],
])('%s is not accepted', async (_, protocols) => {
  expect(await userOf(protocols)).toBeUndefined();
});

test('a bearer token counts before that of a WebSocket', async () => {
  const headers = (token: string) => ({
    authorization: `Bearer ${token}`,
    upgrade: 'websocket',
    'sec-websocket-protocol': `${encoded('sécret')}, x`,
  });
  expect(await authenticator.authenticate({ headers: headers('sécret') })).toBe(JANE);
  expect(await authenticator.authenticate({ headers: headers('other') })).toBeUndefined();
});

test('requests that open no WebSocket have no such token', async () => {
  const headers = { 'sec-websocket-protocol': `${encoded('sécret')}, x` };
  expect(await authenticator.authenticate({ headers })).toBeUndefined();
  expect(hasWebSocketToken(headers)).toBe(false);
  expect(await userOf(`${encoded('sécret')}, x`, 'SPDY/3.1')).toBeUndefined();
});

test('the token is removed from what other servers get', () => {
  expect(withoutToken(`a, ${encoded('sécret')} ,b`)).toBe('a, b');
  expect(withoutToken(encoded('sécret'))).toBe('');
  expect(withoutToken('a,b')).toBe('a,b');
});
