// The kinds of the Gateway API, with the fields that this controller uses. They are custom
// resources: the API server validates and defaults them by their definitions.

import type { LabelSelector } from '#machinery/selectors/labels.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Condition, KubeObject } from '#api/machinery/meta/v1/index.ts';

export const GATEWAY_GROUP = 'gateway.networking.k8s.io';

export interface GatewayClass extends KubeObject {
  readonly spec: { readonly controllerName: string; readonly parametersRef?: object };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly supportedFeatures?: readonly { readonly name: string }[];
  };
}

export interface GatewayAddress {
  readonly type?: string;
  readonly value?: string;
}

export interface Gateway extends KubeObject {
  readonly spec: {
    readonly gatewayClassName: string;
    readonly listeners?: readonly Listener[];
    readonly addresses?: readonly GatewayAddress[];
    readonly infrastructure?: { readonly parametersRef?: object };
    readonly allowedListeners?: { readonly namespaces?: { readonly from?: string } };
    readonly tls?: object;
  };
  readonly status?: GatewayStatus;
}

export interface GatewayStatus {
  readonly addresses?: readonly GatewayAddress[];
  readonly conditions?: readonly Condition[];
  readonly listeners?: readonly ListenerStatus[];
}

export interface Listener {
  readonly name: string;
  readonly hostname?: string;
  readonly port: number;
  readonly protocol: string;
  readonly tls?: {
    readonly mode?: string;
    readonly certificateRefs?: readonly ObjectReference[];
    readonly options?: Readonly<Record<string, string>>;
  };
  readonly allowedRoutes?: {
    readonly namespaces?: { readonly from?: string; readonly selector?: LabelSelector };
    readonly kinds?: readonly RouteGroupKind[];
  };
}

export interface RouteGroupKind {
  readonly group?: string;
  readonly kind: string;
}

export interface ListenerStatus {
  readonly name: string;
  readonly supportedKinds: readonly RouteGroupKind[];
  readonly attachedRoutes: number;
  readonly conditions: readonly Condition[];
}

export interface ObjectReference {
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface ParentReference extends ObjectReference {
  readonly sectionName?: string;
  readonly port?: number;
}

export interface RouteParentStatus {
  readonly parentRef: ParentReference;
  readonly controllerName: string;
  readonly conditions: readonly Condition[];
}

export interface RouteStatus {
  readonly parents: readonly RouteParentStatus[];
}

export interface BackendRef extends ObjectReference {
  readonly port?: number;
  readonly weight?: number;
  readonly filters?: readonly RouteFilter[];
}

export interface HeaderFilter {
  readonly set?: readonly NamedValue[];
  readonly add?: readonly NamedValue[];
  readonly remove?: readonly string[];
}

export interface NamedValue {
  readonly type?: string;
  readonly name: string;
  readonly value: string;
}

export interface PathModifier {
  readonly type: string;
  readonly replaceFullPath?: string;
  readonly replacePrefixMatch?: string;
}

/** A filter of HTTPRoutes. Filters of GRPCRoutes are a subset. */
export interface RouteFilter {
  readonly type: string;
  readonly requestHeaderModifier?: HeaderFilter;
  readonly responseHeaderModifier?: HeaderFilter;
  readonly requestMirror?: {
    readonly backendRef: BackendRef;
    readonly percent?: number;
    readonly fraction?: { readonly numerator: number; readonly denominator?: number };
  };
  readonly requestRedirect?: {
    readonly scheme?: string;
    readonly hostname?: string;
    readonly path?: PathModifier;
    readonly port?: number;
    readonly statusCode?: number;
  };
  readonly urlRewrite?: { readonly hostname?: string; readonly path?: PathModifier };
}

interface CommonRoute<Rule> extends KubeObject {
  readonly spec: {
    readonly parentRefs?: readonly ParentReference[];
    readonly hostnames?: readonly string[];
    readonly rules?: readonly Rule[];
    readonly useDefaultGateways?: string;
  };
  readonly status?: RouteStatus;
}

export interface HttpRule {
  readonly name?: string;
  readonly matches?: readonly {
    readonly path?: { readonly type?: string; readonly value?: string };
    readonly headers?: readonly NamedValue[];
    readonly queryParams?: readonly NamedValue[];
    readonly method?: string;
  }[];
  readonly filters?: readonly RouteFilter[];
  readonly backendRefs?: readonly BackendRef[];
  readonly timeouts?: { readonly request?: string; readonly backendRequest?: string };
  readonly retry?: object;
  readonly sessionPersistence?: object;
}

export interface GrpcRule {
  readonly name?: string;
  readonly matches?: readonly {
    readonly method?: {
      readonly type?: string;
      readonly service?: string;
      readonly method?: string;
    };
    readonly headers?: readonly NamedValue[];
  }[];
  readonly filters?: readonly RouteFilter[];
  readonly backendRefs?: readonly BackendRef[];
  readonly sessionPersistence?: object;
}

export type HttpRoute = CommonRoute<HttpRule>;
export type GrpcRoute = CommonRoute<GrpcRule>;

export interface ReferenceGrant extends KubeObject {
  readonly spec: {
    readonly from: readonly {
      readonly group: string;
      readonly kind: string;
      readonly namespace: string;
    }[];
    readonly to: readonly {
      readonly group: string;
      readonly kind: string;
      readonly name?: string;
    }[];
  };
}

function kind<T extends KubeObject>(
  resource: string,
  name: string,
  namespaced = true,
  version = 'v1',
): ResourceType<T> {
  return {
    group: GATEWAY_GROUP,
    version,
    resource,
    singular: name.toLowerCase(),
    kind: name,
    namespaced,
    shortNames: [],
    categories: [],
  };
}

export const gatewayClasses = kind<GatewayClass>('gatewayclasses', 'GatewayClass', false);
export const gateways = kind<Gateway>('gateways', 'Gateway');
export const httpRoutes = kind<HttpRoute>('httproutes', 'HTTPRoute');
export const grpcRoutes = kind<GrpcRoute>('grpcroutes', 'GRPCRoute');
/** Returns the type. v1 exists since release 1.5. */
export const referenceGrants = (version: 'v1' | 'v1beta1'): ResourceType<ReferenceGrant> =>
  kind('referencegrants', 'ReferenceGrant', true, version);
