// The review kinds of authentication.k8s.io, which return the user of a token or of the request.
// They are never stored.

import {
  selfSubjectReviews,
  type TokenReview,
  tokenReviews,
} from '#api/groups/authentication/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { formatTime } from '#machinery/text/time.ts';
import {
  AUTHENTICATED_GROUP,
  type Refuse,
  type TokenAnswer,
  type TokenAuthenticator,
} from '#apiserver/authentication/authenticator.ts';
import { defineVirtualKind } from '#apiserver/catalog/define-kind.ts';
import { FreshObject } from '#apiserver/registry/encoded-object.ts';
import type { Rest } from '#apiserver/registry/rest.ts';
import type { UserInfo } from '#apiserver/request.ts';

/** The error of every token that is not valid. The reasons follow. */
const INVALID_TOKEN = 'invalid bearer token';

export interface IdentityReviewServices {
  readonly clock: Clock;
  /** The authenticators of requests' tokens, in order. */
  readonly tokenAuthenticators: readonly TokenAuthenticator[];
  /** The audiences of the API server itself, for which tokens are reviewed by default. */
  readonly audiences: readonly string[];
}

/** Serves SelfSubjectReview, the only review with a creation time, as upstream. */
function selfSubjectReview(clock: Clock): Rest {
  return {
    create: async (context, _name, object, { validate }) => {
      await validate?.(object, undefined);
      const metadata = { ...object.metadata, creationTimestamp: formatTime(clock.now()) };
      return new FreshObject({ ...object, metadata, status: { userInfo: wireUser(context.user) } });
    },
  };
}

function tokenReview(authenticators: readonly TokenAuthenticator[], own: readonly string[]): Rest {
  return {
    create: async (context, _name, object, { validate }) => {
      if (context.namespace !== '')
        throw apierrors.badRequest('namespace is not allowed on this type: ' + context.namespace);
      const review = object as Immutable<TokenReview>;
      const { token = '', audiences = [] } = review.spec;
      if (token === '')
        throw apierrors.badRequest('token is required for TokenReview in authentication');
      await validate?.(review, undefined);
      const wanted = audiences.length > 0 ? audiences : own;
      const reasons = new Set([INVALID_TOKEN]);
      const refuse = (reason: string): undefined => {
        reasons.add(reason);
      };
      const tokenUser = await authenticate(authenticators, token, wanted, refuse);
      for (const [key, value] of Object.entries(tokenUser?.notes ?? {}))
        context.audit?.annotate(key, value);
      const status =
        tokenUser === undefined
          ? { user: {}, error: errorText([...reasons]) }
          : {
              authenticated: true,
              user: wireUser(authenticated(tokenUser.user)),
              ...(tokenUser.audiences.length > 0 && { audiences: tokenUser.audiences }),
            };
      return new FreshObject({ ...review, status });
    },
  };
}

/** Returns several errors as upstream's server joins them. */
const errorText = (reasons: readonly string[]): string =>
  reasons.length === 1 ? reasons.join() : `[${reasons.join(', ')}]`;

async function authenticate(
  authenticators: readonly TokenAuthenticator[],
  token: string,
  audiences: readonly string[],
  refuse: Refuse,
): Promise<TokenAnswer | undefined> {
  for (const authenticator of authenticators) {
    const tokenUser = await authenticator.authenticateToken(token, audiences, refuse);
    if (tokenUser !== undefined) return tokenUser;
  }
  return undefined;
}

function authenticated(user: UserInfo): UserInfo {
  return user.groups.includes(AUTHENTICATED_GROUP)
    ? user
    : { ...user, groups: [...user.groups, AUTHENTICATED_GROUP] };
}

function wireUser({ name, uid, groups, extra }: UserInfo): Record<string, unknown> {
  return {
    username: name,
    ...(uid !== undefined && { uid }),
    ...(groups.length > 0 && { groups }),
    ...(extra !== undefined && Object.keys(extra).length > 0 && { extra }),
  };
}

export const selfSubjectReviewKind = defineVirtualKind<Pick<IdentityReviewServices, 'clock'>>({
  type: selfSubjectReviews,
  rest: ({ clock }) => selfSubjectReview(clock),
});

export const tokenReviewKind = defineVirtualKind<
  Pick<IdentityReviewServices, 'tokenAuthenticators' | 'audiences'>
>({
  type: tokenReviews,
  rest: ({ tokenAuthenticators, audiences }) => tokenReview(tokenAuthenticators, audiences),
});
