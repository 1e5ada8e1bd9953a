// The version of Kubernetes whose API is served, as published in /version, metrics and /statusz.

import * as apierrors from '#machinery/apierrors.ts';
import { versionInfo } from '#machinery/version-info.ts';
import { acceptsType } from './endpoints/negotiation.ts';
import { FreshObject } from './registry/encoded-object.ts';
import type { NonResourceRoute } from './endpoints/non-resource-route.ts';

/**
 * The patch release whose behaviour is implemented and compared with. Clients check their version
 * skew against it.
 */
export const DEFAULT_VERSION = 'v1.36.3';

const JSON_TYPE = 'application/json';

export function versionRoute(gitVersion: string): NonResourceRoute {
  const object = new FreshObject(versionInfo(gitVersion));
  return {
    handles: (path) => path === '/version' || path === '/version/',
    handle: async (request) => {
      if (request.method !== 'GET') throw apierrors.genericStatus(405);
      // The document is always indented JSON.
      if (!acceptsType(request, JSON_TYPE)) throw apierrors.noRepresentation([JSON_TYPE]);
      return {
        code: 200,
        body: { kind: 'object', object },
        format: { mediaType: JSON_TYPE, pretty: true },
      };
    },
  };
}
