// /healthz, /livez and /readyz: all checks at once, or one of them by its name below the path.

import type { Logger } from '../machinery/log.ts';
import type { NonResourceRoute } from './endpoints/router.ts';
import type { ApiRequest, ApiResponse } from './request.ts';

export interface HealthCheck {
  readonly name: string;
  /** Throws if it is not well. */
  check(): void | Promise<void>;
}

const TEXT = 'text/plain; charset=utf-8';

/** `path`: '/readyz'. The checks are looked up at each request. */
export function healthRoute(path: string, checks: () => readonly HealthCheck[], logger: Logger): NonResourceRoute {
  const name = path.slice(1);
  return {
    handles: (requested) => requested === path || requested.startsWith(`${path}/`),
    handle: async (request) => {
      const single = request.path.slice(path.length + 1);
      if (single !== '') {
        const check = checks().find((candidate) => candidate.name === single);
        if (check === undefined) return text(404, '404 page not found\n');
        return (await failed(check, logger))
          ? text(500, `internal server error: ${single} failed: reason withheld\n`)
          : text(200, 'ok');
      }
      return answerAll(name, checks(), request, logger);
    },
  };
}

async function answerAll(
  name: string,
  checks: readonly HealthCheck[],
  request: ApiRequest,
  logger: Logger,
): Promise<ApiResponse> {
  const excluded = new Set(request.query.getAll('exclude'));
  const lines: string[] = [];
  const failures: string[] = [];
  for (const check of checks) {
    if (excluded.delete(check.name)) {
      lines.push(`[+]${check.name} excluded: ok`);
      continue;
    }
    if (await failed(check, logger)) {
      failures.push(check.name);
      lines.push(`[-]${check.name} failed: reason withheld`);
    } else lines.push(`[+]${check.name} ok`);
  }
  if (excluded.size > 0) {
    const names = [...excluded].map((unknown) => JSON.stringify(unknown)).join(', ');
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names}`);
  }
  if (failures.length > 0) {
    logger.warn('a health check failed', { endpoint: name, checks: failures.join(',') });
    return text(500, `${lines.join('\n')}\n${name} check failed\n`);
  }
  return request.query.has('verbose') ? text(200, `${lines.join('\n')}\n${name} check passed\n`) : text(200, 'ok');
}

async function failed(check: HealthCheck, logger: Logger): Promise<boolean> {
  try {
    await check.check();
    return false;
  } catch (error) {
    logger.debug('a health check failed', { check: check.name, err: error });
    return true;
  }
}

function text(code: number, content: string): ApiResponse {
  return { code, body: { kind: 'text', contentType: TEXT, text: content }, headers: { 'x-content-type-options': 'nosniff' } };
}
