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
  /** Returns the keys, and for how many seconds clients may keep them. */
  readonly published: () => { readonly keys: readonly TokenKey[]; readonly maxAgeSeconds: number };
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
  published,
  externalAddress,
  jwksUri,
}: OpenIdConfig): readonly NonResourceRoute[] {
  const configuration = (keys: readonly TokenKey[]): object => ({
    issuer,
    jwks_uri: jwksUri ?? `https://${externalAddress()}${JWKS_PATH}`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [
      ...new Set(keys.map(({ algorithm }) => algorithm)),
    ].toSorted(),
  });
  const route = (path: string, type: string, documentOf: (keys: readonly TokenKey[]) => object) =>
    documentRoute(path, type, () => {
      const { keys, maxAgeSeconds } = published();
      return { text: JSON.stringify(documentOf(keys)), maxAgeSeconds };
    });
  return [
    route(OPENID_CONFIGURATION_PATH, JSON_TYPE, configuration),
    route(JWKS_PATH, JWKS_TYPE, (keys) => ({ keys: keys.map(publicJwk) })),
  ];
}

function documentRoute(
  path: string,
  contentType: string,
  document: () => { readonly text: string; readonly maxAgeSeconds: number },
): NonResourceRoute {
  return {
    handles: (requested) => requested === path || requested === `${path}/`,
    handle: async (request) => {
      if (request.method !== 'GET') throw apierrors.genericStatus(405);
      if (!acceptsType(request, contentType)) throw apierrors.noRepresentation([contentType]);
      const { text, maxAgeSeconds } = document();
      const headers = { 'cache-control': `public, max-age=${maxAgeSeconds}` };
      return { code: 200, headers, body: { kind: 'text', contentType, text } };
    },
  };
}
