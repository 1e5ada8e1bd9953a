// Authenticates tokens that are stored in Secrets. The token controller creates one for every
// Secret that requests it. Such a token does not expire: it is valid as long as its Secret contains
// it and its ServiceAccount exists.

import type { Secret, ServiceAccount } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Find } from '../catalog/internal-client.ts';
import type { UserInfo } from '../request.ts';
import {
  quotedAudiences,
  type Refuse,
  refuseSilently,
  type TokenAnswer,
  type TokenAuthenticator,
} from './authenticator.ts';
import {
  dayOf,
  INVALID_SINCE_LABEL,
  LAST_USED_LABEL,
  type UsedSecret,
} from './legacy-token-tracking.ts';
import type { TokenVerifier } from './token-verifier.ts';

export interface LegacyServiceAccountTokensConfig {
  readonly clock: Clock;
  readonly find: Find;
  /** Has the public key of the controller that signs these tokens. */
  readonly verifier: TokenVerifier;
  /** The audiences of these tokens, which contain none. */
  readonly audiences: readonly string[];
  /** Called for the first use of a token on each day. Default: uses are not tracked. */
  readonly noteUse?: (secret: UsedSecret, day: string) => void;
}

const ISSUER = 'kubernetes/serviceaccount';
const CLAIM = {
  namespace: 'kubernetes.io/serviceaccount/namespace',
  secret: 'kubernetes.io/serviceaccount/secret.name',
  account: 'kubernetes.io/serviceaccount/service-account.name',
  uid: 'kubernetes.io/serviceaccount/service-account.uid',
} as const;
/** The claims of every token: upstream's word for each, and its name. */
const NEEDED: readonly (readonly [what: string, name: string])[] = [
  ['sub', 'sub'],
  ['namespace', CLAIM.namespace],
  ['secretName', CLAIM.secret],
  ['serviceAccountName', CLAIM.account],
  ['serviceAccountUID', CLAIM.uid],
];

export class LegacyServiceAccountTokens implements TokenAuthenticator {
  readonly #config: LegacyServiceAccountTokensConfig;
  /** The day for which a Secret's use was recorded, by UID. Entries of earlier days are dropped. */
  #noted = new Map<string, string>();

  constructor(config: LegacyServiceAccountTokensConfig) {
    this.#config = config;
  }

  async authenticateToken(
    token: string,
    audiences: readonly string[],
    refuse: Refuse = refuseSilently,
  ): Promise<TokenAnswer | undefined> {
    const claims = await this.#config.verifier.verify(token, [ISSUER], refuse);
    if (claims === undefined) return undefined;
    const own = this.#config.audiences;
    const common = audiences.filter((audience) => own.includes(audience));
    if (audiences.length > 0 && common.length === 0)
      return refuse(
        `token audiences ${quotedAudiences(own)} is invalid for the target audiences ${quotedAudiences(audiences)}`,
      );
    const user = await this.#userOf(claims, token, refuse);
    return user === undefined ? undefined : { user, audiences: common };
  }

  async #userOf(
    claims: Readonly<Record<string, unknown>>,
    token: string,
    refuse: Refuse,
  ): Promise<UserInfo | undefined> {
    const claim = (name: string): string => {
      const value = claims[name];
      return typeof value === 'string' ? value : '';
    };
    for (const [what, name] of NEEDED)
      if (claim(name) === '') return refuse(`${what} claim is missing`);
    const namespace = claim(CLAIM.namespace);
    const name = claim(CLAIM.account);
    if (claim('sub') !== `system:serviceaccount:${namespace}:${name}`)
      return refuse('sub claim is invalid');
    const { find } = this.#config;
    const secret = await find<Immutable<Secret>>('', 'secrets', namespace, claim(CLAIM.secret));
    if (secret === undefined || secret.metadata.deletionTimestamp !== undefined)
      return refuse('Token has been invalidated');
    if (Buffer.from(secret.data?.['token'] ?? '', 'base64').toString('utf8') !== token)
      return refuse("Token does not match server's copy");
    const account = await find<Immutable<ServiceAccount>>('', 'serviceaccounts', namespace, name);
    if (account === undefined) return refuse(`serviceaccounts ${JSON.stringify(name)} not found`);
    const { uid, deletionTimestamp } = account.metadata;
    if (deletionTimestamp !== undefined)
      return refuse(`ServiceAccount ${namespace}/${name} has been deleted`);
    if (uid !== claim(CLAIM.uid))
      return refuse(`ServiceAccount UID (${uid}) does not match claim (${claim(CLAIM.uid)})`);
    if ((secret.metadata.labels?.[INVALID_SINCE_LABEL] ?? '') !== '')
      return refuse(
        `the token in secret ${namespace}/${secret.metadata.name} for service account ` +
          `${namespace}/${name} has been marked invalid. ` +
          'Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the ' +
          `'${INVALID_SINCE_LABEL}' label from the secret to temporarily allow use of this token`,
      );
    this.#note(secret);
    return {
      name: `system:serviceaccount:${namespace}:${name}`,
      uid,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
    };
  }

  #note({ metadata }: Immutable<Secret>): void {
    const { noteUse, clock } = this.#config;
    const today = dayOf(clock.now());
    if (
      noteUse === undefined ||
      metadata.labels?.[LAST_USED_LABEL] === today ||
      this.#noted.get(metadata.uid) === today
    )
      return;
    if ([...this.#noted.values()][0] !== today) this.#noted = new Map();
    this.#noted.set(metadata.uid, today);
    noteUse({ namespace: metadata.namespace ?? '', name: metadata.name, uid: metadata.uid }, today);
  }
}
