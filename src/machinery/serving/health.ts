// /healthz, /livez and /readyz: all checks at once, or a single one by its name below the path.
// Every component with a port uses it.

import { errorMessage } from '../error-message.ts';
import type { Logger } from '../log.ts';
import type { HealthSlis } from './health-slis.ts';

export interface HealthCheck {
  /** The name as in upstream: 'etcd', 'poststarthook/rbac/bootstrap-roles'. */
  readonly name: string;
  /** Throws or rejects while the component is not healthy. */
  check(): void | Promise<void>;
}

/** A response that does not depend on the HTTP server that sends it. */
export interface TextResponse {
  readonly code: number;
  readonly contentType: string;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HealthEndpointConfig {
  /** Such as '/readyz'. */
  readonly path: string;
  /** Called at each request. */
  readonly checks: () => readonly HealthCheck[];
  readonly logger: Logger | undefined;
  readonly slis: HealthSlis;
}

export const TEXT = 'text/plain; charset=utf-8';
export const NOSNIFF = { 'x-content-type-options': 'nosniff' };

export class HealthEndpoint {
  readonly path: string;
  readonly #config: HealthEndpointConfig;

  constructor(config: HealthEndpointConfig) {
    this.path = config.path;
    this.#config = config;
  }

  handles(path: string): boolean {
    return path === this.path || path.startsWith(`${this.path}/`);
  }

  /** Returns the response; undefined if there is no check of that name. */
  async respond(path: string, query: URLSearchParams): Promise<TextResponse | undefined> {
    if (path === this.path) return this.#all(query);
    const name = path.slice(this.path.length + 1);
    const check = this.#config.checks().find((candidate) => candidate.name === name);
    if (check === undefined) return undefined;
    const problem = await problemOf(check);
    if (problem === undefined) return { code: 200, contentType: TEXT, text: 'ok' };
    return {
      code: 500,
      contentType: TEXT,
      text: `internal server error: ${problem}\n`,
      headers: NOSNIFF,
    };
  }

  async #all(query: URLSearchParams): Promise<TextResponse> {
    const { logger, slis } = this.#config;
    const type = this.path.slice(1);
    const excluded = new Set(query.getAll('exclude'));
    const lines: string[] = [];
    const failures: string[] = [];
    for (const check of this.#config.checks()) {
      const { name } = check;
      if (excluded.delete(name)) {
        lines.push(`[+]${name} excluded: ok`);
        continue;
      }
      const problem = await problemOf(check);
      slis.observe(name, type, problem === undefined);
      if (problem === undefined) lines.push(`[+]${name} ok`);
      else {
        // This path is public, so the reason is shown only by the path of the single check.
        failures.push(`[-]${name} failed: ${problem}`);
        lines.push(`[-]${name} failed: reason withheld`);
      }
    }
    if (excluded.size > 0) {
      const names = [...excluded].toSorted().map((unknown) => JSON.stringify(unknown));
      lines.push(`warn: some health checks cannot be excluded: no matches for ${names.join(',')}`);
    }
    if (failures.length > 0) {
      logger?.warn(`${type} check failed`, { checks: failures.join('; ') });
      return {
        code: 500,
        contentType: TEXT,
        text: `${lines.join('\n')}\n${type} check failed\n`,
        headers: NOSNIFF,
      };
    }
    const text = query.has('verbose') ? `${lines.join('\n')}\n${type} check passed\n` : 'ok';
    return { code: 200, contentType: TEXT, text, headers: NOSNIFF };
  }
}

/**
 * Returns the results of the checks of some endpoints for /metrics/slis. Upstream's components run
 * where something always probes them. Here the checks are performed now if no client has requested
 * them yet.
 */
export async function sliText(
  slis: HealthSlis,
  endpoints: readonly HealthEndpoint[],
): Promise<string> {
  if (slis.isEmpty)
    for (const endpoint of endpoints) await endpoint.respond(endpoint.path, new URLSearchParams());
  return slis.text();
}

async function problemOf(check: HealthCheck): Promise<string | undefined> {
  try {
    await check.check();
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

/** Always passes: the process responds. */
export const pingCheck: HealthCheck = { name: 'ping', check: () => undefined };

/**
 * Always passes: log records are written synchronously, so a blocked log would block the whole
 * process.
 */
export const logCheck: HealthCheck = { name: 'log', check: () => undefined };

/**
 * The steps that a component runs once at its start, as checks. Each check fails until its hook has
 * finished.
 */
export class StartHooks {
  readonly #names: readonly string[];
  readonly #finished = new Set<string>();

  /** `names`: without 'poststarthook/', in the order of the checks. */
  constructor(names: readonly string[]) {
    this.#names = names;
  }

  finish(...names: readonly string[]): void {
    for (const name of names) {
      if (!this.#names.includes(name)) throw new Error(`no hook is named ${name}`);
      this.#finished.add(name);
    }
  }

  get checks(): readonly HealthCheck[] {
    return this.#names.map((name) => ({
      name: `poststarthook/${name}`,
      check: () => {
        if (!this.#finished.has(name)) throw new Error('not finished');
      },
    }));
  }
}
