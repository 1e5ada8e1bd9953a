// Tokens of ServiceAccounts: JSON web tokens that this server signs. They are short-lived, and
// bound to objects. A token is valid as long as its signature and lifetime are, and all bound
// objects exist.

import type { Node, Pod, Secret, ServiceAccount } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import type { Clock } from '#machinery/clock.ts';
import { isPlainObject } from '#machinery/deep.ts';
import { Counter, counterText, Family } from '#machinery/metrics/instruments.ts';
import type { Random } from '#machinery/random.ts';
import type { Find } from '../catalog/internal-client.ts';
import type { UserInfo } from '../request.ts';
import {
  CLOCK_LEEWAY_SECONDS,
  quotedAudiences,
  type Refuse,
  refuseSilently,
  type TokenAnswer,
  type TokenAuthenticator,
} from './authenticator.ts';
import type { TokenKeyring } from './token-keyring.ts';
import { TokenVerifier } from './token-verifier.ts';

export interface ServiceAccountTokensConfig {
  readonly clock: Clock;
  readonly random: Random;
  readonly find: Find;
  readonly keyring: TokenKeyring;
  /** The issuer. Default: 'https://kubernetes.default.svc.cluster.local'. */
  readonly issuer?: string;
  /** Further issuers whose tokens are accepted. Default: none. */
  readonly acceptedIssuers?: readonly string[];
  /**
   * The maximum lifetime of a token, in seconds. A request for a longer one gets this, with a
   * warning. Default: no limit.
   */
  readonly maxExpirationSeconds?: number;
  /**
   * Whether the tokens that pods get by default live for a year, and only count as stale after the
   * lifetime that was asked for: clients that never read their token again go on. Default: false.
   */
  readonly extendExpiration?: boolean;
  /** The lifetime of those, in seconds. Default: a year, which is also the maximum. */
  readonly maxExtendedSeconds?: number;
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
  readonly node?: { readonly name: string; readonly uid?: string };
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

/** Reports whether a node is named as that of a pod, which may be by its name alone. */
const isNodeOfPod = (value: unknown, pod: unknown): boolean =>
  pod !== undefined &&
  isPlainObject(value) &&
  typeof value['name'] === 'string' &&
  value['uid'] === undefined;

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
    /** The node of a pod has no UID if it did not exist. */
    readonly node?: Pick<Reference, 'name'> & Partial<Reference>;
    /** When the token becomes stale, in seconds since the epoch. */
    readonly warnafter?: number;
  };
}

export interface SignedToken {
  readonly token: string;
  /** The claim `jti`. */
  readonly id: string;
  /** When the token should be replaced, in ms. An extended one is valid for longer. */
  readonly expirationMs: number;
}

export const DEFAULT_ISSUER = 'https://kubernetes.default.svc.cluster.local';
/** The number of verified signatures that are cached. */
const MAX_VERIFIED = 1024;
/**
 * How long the tokens of a deleted account or pod stay valid, in ms, so that a terminating pod can
 * still use them.
 */
const DELETION_LEEWAY_MS = 60_000;
/**
 * The lifetime of the tokens that the admission plugin ServiceAccount mounts: one hour, plus the
 * seconds by which they are recognized. Others are not extended.
 */
export const MOUNTED_TOKEN_SECONDS = 3607;
/** The lifetime of an extended token. */
export const EXTENDED_TOKEN_SECONDS = 365 * 24 * 3600;
const STALE_TOKEN = 'authentication.k8s.io/stale-token';
/** Texts of refusals, as upstream's. */
const INVALIDATED = 'service account token has been invalidated';
const NO_ACCOUNT = 'the token names no service account';

export class ServiceAccountTokens implements TokenAuthenticator {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly maxExpirationSeconds: number | undefined;
  readonly #config: ServiceAccountTokensConfig;
  readonly #keyring: TokenKeyring;
  readonly #issuers: readonly string[];
  /** Verifies tokens with the accepted keys. */
  readonly verifier: TokenVerifier;
  /** Tokens with verified signatures, oldest first. */
  readonly #verified = new Map<string, Claims>();
  /** The keys with which they were verified. */
  #verifiedGeneration = 0;
  /** Uses of extended tokens, by whether they were stale. */
  readonly #uses = {
    stale: new Family(
      {
        name: 'serviceaccount_stale_tokens_total',
        help: 'Cumulative stale projected service account tokens used',
      },
      () => new Counter(),
    ),
    valid: new Family(
      {
        name: 'serviceaccount_valid_tokens_total',
        help: 'Cumulative valid projected service account tokens used',
      },
      () => new Counter(),
    ),
  };

  constructor(config: ServiceAccountTokensConfig) {
    this.#config = config;
    this.issuer = config.issuer ?? DEFAULT_ISSUER;
    this.#issuers = [this.issuer, ...(config.acceptedIssuers ?? [])];
    this.audiences = config.audiences ?? this.#issuers;
    this.maxExpirationSeconds = config.maxExpirationSeconds;
    this.#keyring = config.keyring;
    this.verifier = new TokenVerifier(config.keyring);
    // Both are published from the start.
    this.#uses.stale.with();
    this.#uses.valid.with();
  }

  /** Rejects with the keyring's error. */
  async sign(wish: TokenWish): Promise<SignedToken> {
    const { metadata } = wish.serviceAccount;
    const issuedAt = Math.floor(this.#config.clock.now() / 1000);
    const expiration = issuedAt + wish.expirationSeconds;
    const { bound, node } = wish;
    const isExtended = this.#isExtended(wish);
    const id = this.#config.random.uuid();
    const claims: Claims = {
      aud: wish.audiences.length > 0 ? wish.audiences : this.audiences,
      exp: isExtended ? issuedAt + this.#extendedSeconds : expiration,
      iat: issuedAt,
      iss: this.issuer,
      jti: id,
      'kubernetes.io': {
        namespace: metadata.namespace,
        serviceaccount: { name: metadata.name, uid: metadata.uid },
        ...(bound !== undefined && {
          [bound.kind.toLowerCase()]: { name: bound.name, uid: bound.uid },
        }),
        ...(node !== undefined && { node }),
        ...(isExtended && { warnafter: expiration }),
      },
      nbf: issuedAt,
      sub: `system:serviceaccount:${metadata.namespace}:${metadata.name}`,
    };
    const token = await this.#keyring.sign(claims);
    return { token, id, expirationMs: expiration * 1000 };
  }

  get #extendedSeconds(): number {
    return Math.min(EXTENDED_TOKEN_SECONDS, this.#config.maxExtendedSeconds ?? Infinity);
  }

  /** Only what every pod gets is extended: tokens that something asked for are as asked for. */
  #isExtended({ bound, expirationSeconds, audiences }: TokenWish): boolean {
    return (
      this.#config.extendExpiration === true &&
      bound?.kind === 'Pod' &&
      expirationSeconds === MOUNTED_TOKEN_SECONDS &&
      audiences.every((audience) => this.audiences.includes(audience))
    );
  }

  /** The public keys for other services. See TokenKeyring. */
  published(): ReturnType<TokenKeyring['published']> {
    return this.#keyring.published();
  }

  /** Returns the metrics of extended tokens and of keys in Prometheus' text format. */
  metrics(): string {
    const uses = counterText(this.#uses.stale) + counterText(this.#uses.valid);
    return uses + (this.#keyring.metrics?.() ?? '');
  }

  async authenticateToken(
    token: string,
    audiences: readonly string[],
    refuse: Refuse = refuseSilently,
  ): Promise<TokenAnswer | undefined> {
    const claims = await this.#verify(token, refuse);
    if (claims === undefined) return undefined;
    const wanted = audiences.length > 0 ? audiences : this.audiences;
    const own =
      typeof claims.aud === 'string' ? [claims.aud] : Array.isArray(claims.aud) ? claims.aud : [];
    const common = wanted.filter((audience) => own.includes(audience));
    if (common.length === 0)
      return refuse(
        `token audiences ${quotedAudiences(own)} is invalid for the target audiences ${quotedAudiences(wanted)}`,
      );
    const late = timeProblem(claims, this.#config.clock.now());
    if (late !== undefined) return refuse(late);
    const user = await this.#userOf(claims, refuse);
    if (user === undefined) return undefined;
    const notes = this.#noteUse(claims);
    return {
      user,
      audiences: audiences.length > 0 ? common : [],
      ...(notes !== undefined && { notes }),
    };
  }

  /** Counts the use of an extended token, and returns what the audit log says of a stale one. */
  #noteUse({ sub, ...claims }: Claims): Readonly<Record<string, string>> | undefined {
    const warnAfter = claims['kubernetes.io']?.warnafter;
    if (typeof warnAfter !== 'number' || warnAfter === 0) return undefined;
    const now = this.#config.clock.now() / 1000;
    const isStale = now > warnAfter;
    this.#uses[isStale ? 'stale' : 'valid'].with().value++;
    if (!isStale) return undefined;
    const late = Math.floor(now) - warnAfter;
    return { [STALE_TOKEN]: `subject: ${sub}, seconds after warning threshold: ${late}` };
  }

  async #verify(token: string, refuse: Refuse): Promise<Claims | undefined> {
    if (this.#verifiedGeneration !== this.#keyring.generation) {
      this.#verified.clear();
      this.#verifiedGeneration = this.#keyring.generation;
    }
    const known = this.#verified.get(token);
    if (known !== undefined) return known;
    const claims = (await this.verifier.verify(token, this.#issuers, refuse)) as Claims | undefined;
    if (claims === undefined) return undefined;
    const [oldest] = this.#verified.keys();
    if (this.#verified.size >= MAX_VERIFIED && oldest !== undefined) this.#verified.delete(oldest);
    this.#verified.set(token, claims);
    return claims;
  }

  /** Returns the user of a token; undefined if a bound object does not exist any more. */
  async #userOf(claims: Claims, refuse: Refuse): Promise<UserInfo | undefined> {
    const own = claims['kubernetes.io'];
    if (!isPlainObject(own)) return refuse(NO_ACCOUNT);
    const { namespace, serviceaccount, pod, secret, node } = own;
    if (typeof namespace !== 'string' || namespace === '' || !isReference(serviceaccount))
      return refuse(NO_ACCOUNT);
    const bound = [pod, secret, node].filter((each) => each !== undefined);
    if (!bound.every((each) => isReference(each) || (each === node && isNodeOfPod(each, pod))))
      return refuse('the token is bound to something without a name and a UID');
    if (claims.sub !== `system:serviceaccount:${namespace}:${serviceaccount.name}`)
      return refuse('sub claim is invalid');
    const problem =
      (await this.#accountProblem(namespace, serviceaccount)) ??
      (await this.#boundProblem<Pod>('pod', namespace, pod)) ??
      (await this.#boundProblem<Secret>('secret', namespace, secret)) ??
      // The node of a pod is informational and not checked. A token that is bound to a node itself
      // is invalid without it.
      (isReference(node) && pod === undefined
        ? await this.#boundProblem<Node>('node', '', node)
        : undefined);
    if (problem !== undefined) return refuse(problem);
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
        ...(node.uid !== undefined && { 'authentication.kubernetes.io/node-uid': [node.uid] }),
      }),
    };
    return {
      name: `system:serviceaccount:${namespace}:${serviceaccount.name}`,
      uid: serviceaccount.uid,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
      extra,
    };
  }

  async #accountProblem(namespace: string, { name, uid }: Reference): Promise<string | undefined> {
    const account = await this.#find<ServiceAccount>('serviceaccounts', namespace, name);
    if (account === undefined) return `serviceaccounts ${JSON.stringify(name)} not found`;
    if (account.metadata.uid !== uid)
      return `service account UID (${account.metadata.uid}) does not match claim (${uid})`;
    return this.#isGone(account)
      ? `service account ${namespace}/${name} has been deleted`
      : undefined;
  }

  async #boundProblem<T extends KubeObject>(
    kind: 'pod' | 'secret' | 'node',
    namespace: string,
    reference: Reference | undefined,
  ): Promise<string | undefined> {
    if (reference === undefined) return undefined;
    const object = await this.#find<T>(`${kind}s`, namespace, reference.name);
    if (object === undefined) return INVALIDATED;
    const { uid } = object.metadata;
    if (uid !== reference.uid)
      return `${kind} UID (${uid}) does not match service account ${kind} ref claim (${reference.uid})`;
    return this.#isGone(object) ? INVALIDATED : undefined;
  }

  #find<T extends KubeObject>(
    resource: string,
    namespace: string,
    name: string,
  ): Awaitable<(Immutable<T> & KubeObject) | undefined> {
    return this.#config.find<Immutable<T> & KubeObject>('', resource, namespace, name);
  }

  #isGone({ metadata: { deletionTimestamp } }: KubeObject): boolean {
    if (deletionTimestamp === undefined) return false;
    return Date.parse(deletionTimestamp) + DELETION_LEEWAY_MS <= this.#config.clock.now();
  }
}

/** Returns why a token is not valid at a time, in ms. Undefined: it is. */
function timeProblem({ nbf, exp, iat }: Claims, now: number): string | undefined {
  const seconds = now / 1000;
  // The holder of the signing key may have written anything.
  if (typeof exp !== 'number') return 'exp claim is missing';
  if (nbf !== undefined && !(seconds + CLOCK_LEEWAY_SECONDS >= nbf))
    return 'service account token is not valid yet';
  if (!(seconds - CLOCK_LEEWAY_SECONDS < exp)) return 'service account token has expired';
  if (iat !== undefined && !(seconds + CLOCK_LEEWAY_SECONDS >= iat))
    return 'service account token is issued in the future';
  return undefined;
}
