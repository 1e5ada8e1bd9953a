// An OpenID Connect provider for tests: discovery, keys, the authorization code flow with PKCE. The
// user signs in by one link on its page.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { systemRandom } from '#machinery/random.ts';

export interface TestIssuerConfig {
  /** The certificate of 127.0.0.1 and its key, as PEM. */
  readonly cert: string;
  readonly key: string;
  readonly clientId: string;
  /** Absent: a public client. */
  readonly clientSecret?: string;
  /** The time of tokens, in ms. */
  readonly now: () => number;
  /** The claims of the user who signs in, beside those that every token has. */
  readonly claims: Readonly<Record<string, unknown>>;
}

export interface TestIssuer {
  /** The address of the issuer. */
  readonly url: string;
  /** Paths of the requests, in order. Tests may clear it. */
  readonly requests: string[];
  /** Further claims of tokens. A test may change them; undefined leaves one out. */
  claims: Readonly<Record<string, unknown>>;
  /** How long ID tokens are valid. A test may change it. */
  lifeSeconds: number;
  /**
   * Whether sign-ins return a refresh token, which is replaced whenever it is used. 'refused': it is
   * not accepted; 'unavailable': the token endpoint fails. A test may change it.
   */
  refreshTokens: 'none' | 'accepted' | 'refused' | 'unavailable';
  /** Signs a token with the issuer's key, without a sign-in. */
  token(claims?: Readonly<Record<string, unknown>>): Promise<string>;
  /** Returns where the provider's page sends the browser when the user has signed in. */
  approve(authorization: string): string;
  /** Tokens are signed with a new key from now on. */
  rotateKey(): Promise<void>;
  /** Idempotent. */
  stop(): Promise<void>;
}

export async function startTestIssuer(config: TestIssuerConfig): Promise<TestIssuer> {
  const requests: string[] = [];
  const codes = new Map<string, URLSearchParams>();
  const refreshable = new Set<string>();
  let { privateKey, publicKey } = await generateKeyPair('RS256');
  let keyId = 1;
  let url = '';
  const issuer: TestIssuer = {
    get url() {
      return url;
    },
    requests,
    claims: config.claims,
    lifeSeconds: 3600,
    refreshTokens: 'none',
    token: (claims = {}) => {
      const seconds = Math.floor(config.now() / 1000);
      const all = {
        iss: url,
        aud: config.clientId,
        sub: 'user-1',
        iat: seconds,
        exp: seconds + issuer.lifeSeconds,
        ...issuer.claims,
        ...claims,
      };
      return new SignJWT(all)
        .setProtectedHeader({ alg: 'RS256', kid: String(keyId) })
        .sign(privateKey);
    },
    approve: (authorization) => {
      const { searchParams: query } = new URL(authorization);
      const code = Buffer.from(systemRandom.bytes(16)).toString('base64url');
      codes.set(code, query);
      const back = new URL(query.get('redirect_uri') ?? '');
      back.searchParams.set('code', code);
      back.searchParams.set('state', query.get('state') ?? '');
      back.searchParams.set('iss', url);
      return back.href;
    },
    rotateKey: async () => {
      ({ privateKey, publicKey } = await generateKeyPair('RS256'));
      keyId += 1;
    },
    stop: async () => {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };

  /** Returns the response of the token endpoint: a status and a body. */
  async function redeem(
    form: URLSearchParams,
    authorization: string,
  ): Promise<readonly [number, object]> {
    const { clientId, clientSecret } = config;
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
    if (clientSecret !== undefined && authorization !== `Basic ${basic}`)
      return [401, { error: 'invalid_client' }];
    if (form.get('grant_type') === 'refresh_token') return refreshed(form);
    const begun = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isRight =
      begun !== undefined &&
      form.get('grant_type') === 'authorization_code' &&
      begun.get('code_challenge_method') === 'S256' &&
      begun.get('code_challenge') === challenge &&
      begun.get('redirect_uri') === form.get('redirect_uri') &&
      form.get('client_id') === clientId;
    if (!isRight) return [400, { error: 'invalid_grant' }];
    const nonce = begun.get('nonce');
    return [200, await tokens({ nonce, ...issuer.claims })];
  }

  async function tokens(claims: Readonly<Record<string, unknown>>): Promise<object> {
    const all = { token_type: 'Bearer', id_token: await issuer.token(claims) };
    if (issuer.refreshTokens === 'none') return all;
    const refreshToken = Buffer.from(systemRandom.bytes(16)).toString('base64url');
    refreshable.add(refreshToken);
    return { ...all, refresh_token: refreshToken };
  }

  async function refreshed(form: URLSearchParams): Promise<readonly [number, object]> {
    if (issuer.refreshTokens === 'unavailable') return [503, {}];
    const isKnown = refreshable.delete(form.get('refresh_token') ?? '');
    const isRight = isKnown && form.get('client_id') === config.clientId;
    if (!isRight || issuer.refreshTokens !== 'accepted') return [400, { error: 'invalid_grant' }];
    return [200, await tokens(issuer.claims)];
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, search } = new URL(request.url ?? '', url);
    requests.push(pathname);
    const send = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    switch (pathname) {
      case '/.well-known/openid-configuration':
        send(200, {
          issuer: url,
          jwks_uri: `${url}/keys`,
          authorization_endpoint: `${url}/authorize`,
          token_endpoint: `${url}/token`,
        });
        return;
      case '/keys': {
        const key = { ...(await exportJWK(publicKey)), kid: String(keyId), use: 'sig' };
        send(200, { keys: [key] });
        return;
      }
      case '/authorize': {
        const address = `${url}/authorize${search}`;
        const denied = new URL(issuer.approve(address));
        denied.searchParams.delete('code');
        denied.searchParams.set('error', 'access_denied');
        const link = (to: string, text: string): string =>
          `<a href="${to.replaceAll('&', '&amp;')}">${text}</a>`;
        response.writeHead(200, { 'content-type': 'text/html' });
        response.end(
          `<!doctype html><title>Provider</title>${link(issuer.approve(address), 'Allow')} ` +
            link(denied.href, 'Deny'),
        );
        return;
      }
      case '/token': {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        const form = new URLSearchParams(Buffer.concat(chunks).toString());
        send(...(await redeem(form, request.headers.authorization ?? '')));
        return;
      }
      default:
        send(404, {});
    }
  }

  const server = createServer({ cert: config.cert, key: config.key }, (request, response) => {
    serve(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return issuer;
}
