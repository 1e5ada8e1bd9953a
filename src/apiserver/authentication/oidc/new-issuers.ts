// The issuers of a changed configuration: it is used once each of them has answered, so that a wrong
// address does not lock the users of the present configuration out.

import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { OidcProvider } from '#machinery/net/oidc/provider.ts';
import * as wait from '#machinery/wait.ts';
import type { JwtSettings } from './settings.ts';

/** How long issuers are waited for, and how often they are asked, as upstream. */
const TIMEOUT_MS = 60_000;
const PERIOD_MS = 10_000;

/** An issuer has not answered in time. It may do so later. */
export class IssuerUnavailableError extends Error {
  override readonly name = 'IssuerUnavailableError';
}

export interface NewIssuersConfig {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Resolves once each issuer that is not among the present ones has published its configuration.
 * Rejects with an IssuerUnavailableError after a minute, or with the signal's reason.
 */
export async function newIssuersAnswer(
  issuers: readonly JwtSettings[],
  present: readonly JwtSettings[],
  config: NewIssuersConfig,
): Promise<void> {
  const added = issuers.filter((each) => !present.some((one) => isDeepStrictEqual(one, each)));
  await Promise.all(added.map((each) => answers(each, config)));
}

async function answers(settings: JwtSettings, { clock, signal }: NewIssuersConfig): Promise<void> {
  const provider = providerOf(settings, clock);
  let problem: unknown;
  try {
    await wait.pollImmediately(
      { clock, signal, intervalMs: PERIOD_MS, timeoutMs: TIMEOUT_MS },
      async () => {
        try {
          await provider.metadata();
          return true;
        } catch (error) {
          problem = error;
          return false;
        }
      },
    );
  } catch (error) {
    if (!(error instanceof wait.WaitTimeoutError)) throw error;
    throw new IssuerUnavailableError(
      `oidc: authenticator for issuer ${JSON.stringify(settings.issuer)} is not healthy: ` +
        errorMessage(problem),
      { cause: problem },
    );
  }
}

/** Returns the issuer as a provider of keys. */
export function providerOf({ issuer, discoveryUrl, ca }: JwtSettings, clock: Clock): OidcProvider {
  return new OidcProvider({
    issuer,
    clock,
    ...(discoveryUrl !== undefined && { discoveryUrl }),
    ...(ca !== undefined && { ca }),
  });
}
