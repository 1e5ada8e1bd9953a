// Tokens of ServiceAccounts: JSON web tokens that this server signs. They are short-lived, and
// bound to objects. A token is valid as long as its signature and lifetime are, and all bound
// objects exist.

import type { Node, Pod, Secret, ServiceAccount } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { isPlainObject } from '#machinery/deep.ts';
import type { Random } from '#machinery/random.ts';
import { tokenKeysOf, tokenSigner, type TokenSigner } from '#machinery/token-keys.ts';
import type { Find } from '../catalog/internal-client.ts';
import type { UserInfo } from '../request.ts';
import {
  CLOCK_LEEWAY_SECONDS,
  looksLikeJwt,
  type TokenAnswer,
  type TokenAuthenticator,
} from './authenticator.ts';
import { TokenVerifier } from './token-verifier.ts';

export interface ServiceAccountTokensConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly find: Find;
  /** A private key in PEM: RSA, or EC on P-256, P-384 or P-521. */
  readonly signingKey: string;
  /**
   * Keys whose tokens are accepted, in PEM; see tokenKeysOf. Default: only the public key of the
   * signing key.
   */
  readonly publicKeys?: readonly string[];
  /** The issuer. Default: 'https://kubernetes.default.svc.cluster.local'. */
  readonly issuer?: string;
  /** Further issuers whose tokens are accepted. Default: none. */
  readonly acceptedIssuers?: readonly string[];
  /**
   * The maximum lifetime of a token, in seconds. A request for a longer one gets this, with a
   * warning. Default: no limit.
   */
  readonly maxExpirationSeconds?: number;
  /** The default audiences of tokens. Default: the issuer. */
  readonly audiences?: readonly string[];
}

export interface BoundObject {
  readonly kind: 'Pod' | 'Secret' | 'Node';
  readonly name: string;
  readonly uid: string;
}

export interface TokenWish {
  readonly serviceAccount: Immutable<ServiceAccount>;
  /** The audiences of the token. Empty: the API server. */
  readonly audiences: readonly string[];
  readonly expirationSeconds: number;
  readonly bound?: BoundObject;
  /** The node of the bound pod. */
  readonly node?: { readonly name: string; readonly uid: string };
}

interface Reference {
  readonly name: string;
  readonly uid: string;
}

/** Checks the type of a claim: the holder of the signing key may have written anything. */
function isReference(value: unknown): value is Reference {
  return (
    isPlainObject(value) && typeof value['name'] === 'string' && typeof value['uid'] === 'string'
  );
}

interface Claims {
  readonly iss?: string;
  readonly sub?: string;
  readonly jti?: string;
  readonly iat?: number;
  readonly exp?: number;
  readonly nbf?: number;
  readonly aud?: string | readonly string[];
  readonly 'kubernetes.io'?: {
    readonly namespace?: string;
    readonly serviceaccount?: Reference;
    readonly pod?: Reference;
    readonly secret?: Reference;
    readonly node?: Reference;
  };
}

export const DEFAULT_ISSUER = 'https://kubernetes.default.svc.cluster.local';
/** The number of verified signatures that are cached. */
const MAX_VERIFIED = 1024;
/**
 * How long the tokens of a deleted account or pod stay valid, in ms, so that a terminating pod can
 * still use them.
 */
const DELETION_LEEWAY_MS = 60_000;

export class ServiceAccountTokens implements TokenAuthenticator {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly maxExpirationSeconds: number | undefined;
  readonly #config: ServiceAccountTokensConfig;
  readonly #signer: TokenSigner;
  readonly #issuers: readonly string[];
  /** Verifies tokens with the accepted keys. */
  readonly verifier: TokenVerifier;
  /** Tokens with verified signatures, oldest first. */
  readonly #verified = new Map<string, Claims>();

  constructor(config: ServiceAccountTokensConfig) {
    this.#config = config;
    this.issuer = config.issuer ?? DEFAULT_ISSUER;
    this.#issuers = [this.issuer, ...(config.acceptedIssuers ?? [])];
    this.audiences = config.audiences ?? this.#issuers;
    this.maxExpirationSeconds = config.maxExpirationSeconds;
    this.#signer = tokenSigner(config.signingKey);
    // If public keys are configured, the signing key is accepted only if it is among them, as
    // upstream.
    const { publicKeys = [config.signingKey] } = config;
    this.verifier = new TokenVerifier(publicKeys.flatMap(tokenKeysOf));
  }

  sign(wish: TokenWish): { readonly token: string; readonly expirationMs: number } {
    const { metadata } = wish.serviceAccount;
    const issuedAt = Math.floor(this.#config.clock.now() / 1000);
    const expiration = issuedAt + wish.expirationSeconds;
    const { bound, node } = wish;
    const claims: Claims = {
      aud: wish.audiences.length > 0 ? wish.audiences : this.audiences,
      exp: expiration,
      iat: issuedAt,
      iss: this.issuer,
      jti: this.#config.random.uuid(),
      'kubernetes.io': {
        namespace: metadata.namespace,
        serviceaccount: { name: metadata.name, uid: metadata.uid },
        ...(bound !== undefined && {
          [bound.kind.toLowerCase()]: { name: bound.name, uid: bound.uid },
        }),
        ...(node !== undefined && { node }),
      },
      nbf: issuedAt,
      sub: `system:serviceaccount:${metadata.namespace}:${metadata.name}`,
    };
    const token = this.#signer.sign(claims);
    return { token, expirationMs: expiration * 1000 };
  }

  async authenticateToken(
    token: string,
    audiences: readonly string[],
  ): Promise<TokenAnswer | undefined> {
    if (!looksLikeJwt(token)) return undefined;
    const claims = await this.#verify(token);
    if (claims === undefined) return undefined;
    const wanted = audiences.length > 0 ? audiences : this.audiences;
    const lifetime =
      typeof claims.aud === 'string' ? [claims.aud] : Array.isArray(claims.aud) ? claims.aud : [];
    const common = wanted.filter((audience) => lifetime.includes(audience));
    if (common.length === 0) return undefined;
    const user = await this.#userOf(claims);
    return user === undefined ? undefined : { user, audiences: audiences.length > 0 ? common : [] };
  }

  async #verify(token: string): Promise<Claims | undefined> {
    const now = this.#config.clock.now();
    const verified = this.#verified.get(token);
    if (verified !== undefined)
      return ((verified.exp ?? 0) + CLOCK_LEEWAY_SECONDS) * 1000 > now ? verified : undefined;
    const claims = (await this.verifier.verify(token, {
      issuers: this.#issuers,
      now,
      requiredClaims: ['exp', 'sub'],
    })) as Claims | undefined;
    if (claims === undefined) return undefined;
    const [oldest] = this.#verified.keys();
    if (this.#verified.size >= MAX_VERIFIED && oldest !== undefined) this.#verified.delete(oldest);
    this.#verified.set(token, claims);
    return claims;
  }

  /** Returns the user of a token; undefined if a bound object does not exist any more. */
  async #userOf(claims: Claims): Promise<UserInfo | undefined> {
    const own = claims['kubernetes.io'];
    if (!isPlainObject(own)) return undefined;
    const { namespace, serviceaccount, pod, secret, node } = own;
    if (typeof namespace !== 'string' || namespace === '' || !isReference(serviceaccount))
      return undefined;
    if (
      ![pod, secret, node].every((reference) => reference === undefined || isReference(reference))
    )
      return undefined;
    if (claims.sub !== `system:serviceaccount:${namespace}:${serviceaccount.name}`)
      return undefined;
    if (!(await this.#isAlive<ServiceAccount>('serviceaccounts', namespace, serviceaccount)))
      return undefined;
    if (pod !== undefined && !(await this.#isAlive<Pod>('pods', namespace, pod))) return undefined;
    if (secret !== undefined && !(await this.#isAlive<Secret>('secrets', namespace, secret)))
      return undefined;
    // The node of a pod is informational and not checked. A token that is bound to a node itself is
    // invalid without it.
    if (node !== undefined && pod === undefined && !(await this.#isAlive<Node>('nodes', '', node)))
      return undefined;
    const extra: Record<string, readonly string[]> = {
      ...(claims.jti !== undefined && {
        'authentication.kubernetes.io/credential-id': [`JTI=${claims.jti}`],
      }),
      ...(pod !== undefined && {
        'authentication.kubernetes.io/pod-name': [pod.name],
        'authentication.kubernetes.io/pod-uid': [pod.uid],
      }),
      ...(node !== undefined && {
        'authentication.kubernetes.io/node-name': [node.name],
        'authentication.kubernetes.io/node-uid': [node.uid],
      }),
    };
    return {
      name: `system:serviceaccount:${namespace}:${serviceaccount.name}`,
      uid: serviceaccount.uid,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
      extra,
    };
  }

  async #isAlive<T extends KubeObject>(
    resource: string,
    namespace: string,
    reference: Reference,
  ): Promise<boolean> {
    const object = await this.#config.find<Immutable<T> & KubeObject>(
      '',
      resource,
      namespace,
      reference.name,
    );
    if (object === undefined || object.metadata.uid !== reference.uid) return false;
    const { deletionTimestamp } = object.metadata;
    if (deletionTimestamp === undefined) return true;
    return Date.parse(deletionTimestamp) + DELETION_LEEWAY_MS > this.#config.clock.now();
  }
}
