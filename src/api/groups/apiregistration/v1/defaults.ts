// Defaults of API services.

import type { Defaulters } from '#api/machinery/scheme.ts';
import type { APIService } from './types.ts';

const HTTPS_PORT = 443;

function setAPIServiceDefaults({ spec: { service } }: APIService): void {
  if (service !== undefined) service.port ??= HTTPS_PORT;
}

/** Defaulters by kind. Kinds without defaults have no entry. */
export const defaulters: Defaulters = {
  APIService: setAPIServiceDefaults,
};
