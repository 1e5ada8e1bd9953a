// The pages about the proxy itself: /metrics, /proxyMode and /healthz, as upstream's proxy serves
// them at --metrics-bind-address.

import type { RequestListener } from 'node:http';
import { componentMetricsText } from '#machinery/metrics/component-metrics.ts';
import type { VersionInfo } from '#machinery/version-info.ts';

export interface ProxyStatus {
  /** Returns the metrics of the proxy in the text format. */
  readonly metrics: () => string;
  /** Returns the name of the back end; '' before it is chosen. */
  readonly mode: () => string;
  /** The version in the metrics. */
  readonly version: VersionInfo;
}

/** Returns the handler of the pages. Other paths are 404, as upstream's. */
export function statusPages({ metrics, mode, version }: ProxyStatus): RequestListener {
  const pages = new Map<string, () => string>([
    ['/metrics', () => componentMetricsText(metrics(), version)],
    ['/proxyMode', mode],
    ['/healthz', () => 'ok'],
  ]);
  return (request, response) => {
    request.resume();
    const page = pages.get(request.url?.split('?')[0] ?? '');
    response
      .writeHead(page === undefined ? 404 : 200, {
        'content-type': 'text/plain; charset=utf-8',
        'x-content-type-options': 'nosniff',
      })
      .end(page?.() ?? '404 page not found\n');
  };
}
