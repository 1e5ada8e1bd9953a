// Defaults of the authentication group, as Kubernetes documents them. A defaulter may modify its
// object, which was just decoded.

import type { Defaulters } from '#api/machinery/scheme.ts';
import type { TokenRequest } from './types.ts';

const DEFAULT_TOKEN_SECONDS = 3600;

function setTokenRequestDefaults({ spec }: TokenRequest): void {
  spec.expirationSeconds ??= DEFAULT_TOKEN_SECONDS;
}

/** Defaulters by kind. Kinds without defaults have no entry. */
export const defaulters: Defaulters = {
  TokenRequest: setTokenRequestDefaults,
};
