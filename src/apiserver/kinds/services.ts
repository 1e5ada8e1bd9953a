// What the kinds of one API server are made of. Each kind names the part of it that it needs.

import type { TokenAuthenticator } from '../authentication/authenticator.ts';
import type { ServiceAccountTokens } from '../authentication/service-account-tokens.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { NodeConnector } from '../node-connector.ts';
import type { ComponentHealth } from './core/component-status.ts';
import type { ServiceAllocators } from './core/service/allocators.ts';
import type { Find } from '../catalog/internal-client.ts';
import type { FindKind } from '../catalog/kind.ts';
import type { StoreServices } from '../registry/resource-store.ts';

export interface RegistryServices extends StoreServices {
  /** For the review kinds, and for subresources that ask whether somebody may do something else. */
  readonly authorizer: Authorizer;
  /** Cluster IPs and node ports. */
  readonly serviceAllocators: ServiceAllocators;
  /** How to reach the kubelets, for logs, exec and their like. Absent: they are not served. */
  readonly nodeConnector?: NodeConnector;
  /** For ComponentStatuses. Absent: the state of the components is unknown. */
  readonly componentHealth?: ComponentHealth;
  /** Objects of other resources. Works once the registry is complete. */
  readonly find: Find;
  /** Signs tokens of ServiceAccounts. Absent: the server has no key for that. */
  readonly serviceAccountTokens?: ServiceAccountTokens;
  /** For TokenReview. */
  readonly tokenAuthenticators: readonly TokenAuthenticator[];
  /** How long events are kept. Default: an hour. */
  readonly eventTtlMs?: number;
}

/** What a kind is built with: the services of the server, and the other kinds. */
export interface KindServices extends RegistryServices {
  /** Finds the kinds that have been built so far: all of them, once the server serves requests. */
  readonly findKind: FindKind;
}
