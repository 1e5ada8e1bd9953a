// Defaults of API services.

import type { Defaulters } from '#api/machinery/scheme.ts';
import type { APIService } from './types.ts';

const HTTPS_PORT = 443;

function setAPIServiceDefaults({ spec: { service } }: APIService): void {
  if (service !== undefined) service.port ??= HTTPS_PORT;
}

/** The defaulters of this group and version, by kind. Kinds without defaults have none. */
export const defaulters: Defaulters = {
  APIService: setAPIServiceDefaults,
};
