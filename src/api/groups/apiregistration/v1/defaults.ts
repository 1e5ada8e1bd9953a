// Defaults of API services.

import type { Defaulters } from '#api/machinery/scheme.ts';
import type { APIService } from './types.ts';

const HTTPS_PORT = 443;

export function setAPIServiceDefaults({ spec: { service } }: APIService): void {
  if (service !== undefined) service.port ??= HTTPS_PORT;
}

/** Of each kind that has any. */
export const defaulters: Defaulters = {
  APIService: setAPIServiceDefaults,
};
