// The services from which the kinds of one API server are built. The kind that needs a service
// declares its interface, which documents the purpose and the behaviour without it.

import type { FindKind } from '../catalog/kind.ts';
import type { NodeProxyServices } from '../node-proxy/subresources.ts';
import type { StoreServices } from '../registry/resource-store.ts';
import type { IdentityReviewServices } from './authentication/identity-reviews.ts';
import type { AccessReviewServices } from './authorization/access-reviews.ts';
import type { CertificateServices } from './certificates/certificate-signing-request.ts';
import type { ComponentStatusServices } from './core/component-status.ts';
import type { EventServices } from './core/event/index.ts';
import type { EvictionServices } from './core/pod/eviction.ts';
import type { ResourceMetricsServices } from './metrics/usage-fields.ts';
import type { ServiceServices } from './core/service/index.ts';
import type { TokenServices } from './core/service-account/token.ts';

/** The services of the server. */
export interface RegistryServices
  extends
    StoreServices,
    AccessReviewServices,
    CertificateServices,
    ComponentStatusServices,
    EventServices,
    Pick<EvictionServices, 'updateStatus'>,
    IdentityReviewServices,
    NodeProxyServices,
    ResourceMetricsServices,
    ServiceServices,
    TokenServices {}

/** The services of the server, and the other kinds. */
export interface KindServices extends RegistryServices {
  /**
   * Finds a kind among those that have been built so far; all of them once the server serves
   * requests.
   */
  readonly findKind: FindKind;
}
