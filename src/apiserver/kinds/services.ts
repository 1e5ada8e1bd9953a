// What the kinds of one API server are made of: everything that one of them asks for. Each interface is declared by the kind that needs
// it, and says what the service is for and what happens without it.

import type { FindKind } from '../catalog/kind.ts';
import type { NodeProxyServices } from '../node-proxy/subresources.ts';
import type { StoreServices } from '../registry/resource-store.ts';
import type { IdentityReviewServices } from './authentication/identity-reviews.ts';
import type { AccessReviewServices } from './authorization/access-reviews.ts';
import type { ComponentStatusServices } from './core/component-status.ts';
import type { EventServices } from './core/event/index.ts';
import type { ServiceServices } from './core/service/index.ts';
import type { TokenServices } from './core/service-account/token.ts';

/** The services of the server. */
export interface RegistryServices
  extends
    StoreServices,
    AccessReviewServices,
    ComponentStatusServices,
    EventServices,
    IdentityReviewServices,
    NodeProxyServices,
    ServiceServices,
    TokenServices {}

/** What a kind is built with: the services of the server, and the other kinds. */
export interface KindServices extends RegistryServices {
  /** Finds the kinds that have been built so far: all of them, once the server serves requests. */
  readonly findKind: FindKind;
}
