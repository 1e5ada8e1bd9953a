// Discovery of the ServiceAccount issuer, by which other services verify tokens without a request
// to the API server for each one.
// https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/#service-account-issuer-discovery

import * as apierrors from '#machinery/apierrors.ts';
import { publicJwk, type TokenKey } from '#machinery/token-keys.ts';
import type { NonResourceRoute } from './endpoints/non-resource-route.ts';
import { acceptsType } from './endpoints/negotiation.ts';

export const OPENID_CONFIGURATION_PATH = '/.well-known/openid-configuration';
export const JWKS_PATH = '/openid/v1/jwks';

export interface OpenIdConfig {
  readonly issuer: string;
  readonly keys: readonly TokenKey[];
  /**
   * Returns the server's external address, 'HOST:PORT'. Called for each request, since the port may
   * be unknown at the start.
   */
  readonly externalAddress: () => string;
  /** The URL of the public keys. Default: JWKS_PATH at the external address. */
  readonly jwksUri?: string;
}

const JSON_TYPE = 'application/json';
const JWKS_TYPE = 'application/jwk-set+json';
const CACHED = { 'cache-control': 'public, max-age=3600' };

/**
 * Reports whether the issuer can be discovered: its URL is https, without query and fragment.
 * Otherwise nothing is served, as upstream.
 */
export function isDiscoverable(issuer: string): boolean {
  if (!URL.canParse(issuer)) return false;
  const { protocol, search, hash } = new URL(issuer);
  return protocol === 'https:' && search === '' && hash === '';
}

export function openIdRoutes({
  issuer,
  keys,
  externalAddress,
  jwksUri,
}: OpenIdConfig): readonly NonResourceRoute[] {
  const algorithms = [...new Set(keys.map(({ algorithm }) => algorithm))].toSorted();
  const configuration = (): object => ({
    issuer,
    jwks_uri: jwksUri ?? `https://${externalAddress()}${JWKS_PATH}`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: algorithms,
  });
  const keySet = JSON.stringify({ keys: keys.map(publicJwk) });
  return [
    documentRoute(OPENID_CONFIGURATION_PATH, JSON_TYPE, () => JSON.stringify(configuration())),
    documentRoute(JWKS_PATH, JWKS_TYPE, () => keySet),
  ];
}

function documentRoute(path: string, contentType: string, text: () => string): NonResourceRoute {
  return {
    handles: (requested) => requested === path || requested === `${path}/`,
    handle: async (request) => {
      if (request.method !== 'GET') throw apierrors.genericStatus(405);
      if (!acceptsType(request, contentType)) throw apierrors.noRepresentation([contentType]);
      return { code: 200, headers: CACHED, body: { kind: 'text', contentType, text: text() } };
    },
  };
}
