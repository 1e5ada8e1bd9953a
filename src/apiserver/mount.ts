// Parts of the secure port that other modules serve, such as the console. The API server knows only
// this interface; the composition hands the parts in.

import type { Client } from '#client/client.ts';
import type { NonResourceRoute } from './endpoints/non-resource-route.ts';
import type { ApiRequest, Filter, UserInfo } from './request.ts';

export interface Mount {
  /**
   * A stage of the chain before authentication. It serves requests that need no user, and sets
   * `request.user` for credentials of its own, which skips authentication. All requests pass,
   * in-process ones included.
   */
  readonly filter: Filter;
  /** Paths that are served after authentication and authorization. */
  readonly routes: readonly NonResourceRoute[];
}

export interface MountServices {
  /**
   * Returns the user of credentials, as for a request that has them. Undefined: no authenticator
   * recognizes them.
   */
  authenticate(
    credentials: Pick<ApiRequest, 'headers' | 'peerCertificate'>,
  ): Promise<UserInfo | undefined>;
  /** Returns a client whose requests are made, authorized and admitted as the user's. */
  clientOf(user: UserInfo, userAgent: string): Client;
  /** Aborts when the server stops. Streams have to end then. */
  readonly signal: AbortSignal;
}

/** Creates a part. Called once, when the server is built. */
export type MountFactory = (services: MountServices) => Mount;
