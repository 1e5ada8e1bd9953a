// Reads the metrics APIs: the usage of pods, which the API server or metrics-server serves, and
// other metrics, which an adapter serves that the user installs. A missing adapter is reported as
// an error.

import type { PodMetrics as ApiPodMetrics } from '#api/groups/metrics/v1beta1/index.ts';
import type { Immutable, LabelSelector } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import { parseTime } from '#machinery/text/time.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { parseDuration } from '#machinery/text/duration.ts';
import { formatLabelSelector } from '#machinery/selectors/labels.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import type { PodMetric, PodMetrics } from './replicas.ts';
import { ownValue } from '#machinery/collections/string-map.ts';

/** The name of a metric, and the selector of its series. */
export interface Metric {
  readonly name: string;
  readonly selector?: Immutable<LabelSelector>;
}

export interface DescribedObject {
  /**
   * The plural resource, with its group if it has one: 'services', 'ingresses.networking.k8s.io'.
   */
  readonly resource: string;
  /** The object's name. A namespace object is looked up by its own name, not within a namespace. */
  readonly name: string;
}

interface MetricValueList {
  readonly items: readonly {
    readonly describedObject: { readonly name: string };
    readonly timestamp: string;
    readonly windowSeconds?: number;
    readonly value: string;
  }[];
}

interface ExternalMetricValueList {
  readonly items: readonly { readonly timestamp: string; readonly value: string }[];
}

/** The window of a metric that does not report one. */
const DEFAULT_WINDOW_MS = 60_000;

export class MetricsClient {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Returns the use of a resource by each pod, in all its containers or one. */
  async resource(
    resource: string,
    namespace: string,
    selector: string,
    container: string | undefined,
    signal: AbortSignal,
  ): Promise<PodMetrics> {
    const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${encodeURIComponent(namespace)}/pods`;
    let items: readonly Immutable<ApiPodMetrics>[];
    try {
      ({ items } = await this.#get<{ items: readonly Immutable<ApiPodMetrics>[] }>(
        path,
        { labelSelector: selector },
        signal,
      ));
    } catch (error) {
      throw new Error(
        `unable to get metrics for resource ${resource}: unable to fetch metrics from resource metrics API: ` +
          reasonOf(error, 'pods.metrics.k8s.io'),
        { cause: error },
      );
    }
    if (items.length === 0) {
      throw new Error(
        `unable to get metrics for resource ${resource}: no metrics returned from resource metrics API`,
      );
    }
    const found = new Map<string, PodMetric>();
    for (const { metadata, containers, timestamp, window } of items) {
      const chosen = containers.filter(({ name }) => container === undefined || name === container);
      if (container !== undefined && chosen.length === 0) {
        throw new Error(
          `failed to get container metrics: container ${container} not present in metrics ` +
            `for pod ${namespace}/${metadata.name}`,
        );
      }
      const usages = chosen.map(({ usage }) => ownValue(usage, resource));
      // A pod with metrics for only some of its containers counts as one without metrics.
      if (usages.some((usage) => usage === undefined)) continue;
      const value = usages.reduce<number>(
        (sum, usage) => sum + parseQuantity(usage as string).milliValue(),
        0,
      );
      found.set(metadata.name, {
        value,
        at: parseTime(timestamp) ?? 0,
        windowMs: parseDuration(window),
      });
    }
    return found;
  }

  /** Returns a metric of each pod. */
  async pods(
    metric: Metric,
    namespace: string,
    selector: string,
    signal: AbortSignal,
  ): Promise<PodMetrics> {
    const { items } = await this.#custom(
      metric,
      `namespaces/${encodeURIComponent(namespace)}/pods/*`,
      selector,
      signal,
    );
    if (items.length === 0)
      throw new Error(
        `unable to get metric ${metric.name}: no metrics returned from custom metrics API`,
      );
    return new Map(
      items.map(({ describedObject, timestamp, windowSeconds, value }) => [
        describedObject.name,
        {
          value: parseQuantity(value).milliValue(),
          at: parseTime(timestamp) ?? 0,
          windowMs: windowSeconds === undefined ? DEFAULT_WINDOW_MS : windowSeconds * 1000,
        },
      ]),
    );
  }

  /** Returns a metric of one object, in thousandths. */
  async object(
    metric: Metric,
    namespace: string,
    { resource, name }: DescribedObject,
    signal: AbortSignal,
  ): Promise<number> {
    const what = `${resource}/${encodeURIComponent(name)}`;
    const path =
      resource === 'namespaces' ? what : `namespaces/${encodeURIComponent(namespace)}/${what}`;
    const { items } = await this.#custom(metric, path, '', signal);
    const [first] = items;
    if (first === undefined)
      throw new Error(
        `unable to get metric ${metric.name}: no metrics returned from custom metrics API`,
      );
    return parseQuantity(first.value).milliValue();
  }

  /** Returns the sum of a metric's series, in thousandths. */
  async external(metric: Metric, namespace: string, signal: AbortSignal): Promise<number> {
    const path =
      `/apis/external.metrics.k8s.io/v1beta1/namespaces/${encodeURIComponent(namespace)}/` +
      encodeURIComponent(metric.name);
    const what = `unable to get external metric ${namespace}/${metric.name}/${describe(metric.selector)}`;
    let answer: ExternalMetricValueList;
    try {
      answer = await this.#get(path, selection('labelSelector', metric.selector), signal);
    } catch (error) {
      const why = reasonOf(error, `${metric.name}.external.metrics.k8s.io`);
      throw new Error(`${what}: unable to fetch metrics from external metrics API: ${why}`, {
        cause: error,
      });
    }
    if (answer.items.length === 0)
      throw new Error(`${what}: no metrics returned from external metrics API`);
    return answer.items.reduce((sum, { value }) => sum + parseQuantity(value).milliValue(), 0);
  }

  async #custom(
    metric: Metric,
    path: string,
    labelSelector: string,
    signal: AbortSignal,
  ): Promise<MetricValueList> {
    const query = {
      ...selection('metricLabelSelector', metric.selector),
      ...(labelSelector !== '' && { labelSelector }),
    };
    const at = `/apis/custom.metrics.k8s.io/v1beta2/${path}/${encodeURIComponent(metric.name)}`;
    try {
      return await this.#get<MetricValueList>(at, query, signal);
    } catch (error) {
      const absent = 'no custom metrics API (custom.metrics.k8s.io) registered';
      const why = isAbsent(error) ? absent : errorMessage(error);
      throw new Error(
        `unable to get metric ${metric.name}: unable to fetch metrics from custom metrics API: ${why}`,
        {
          cause: error,
        },
      );
    }
  }

  #get<T>(path: string, query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<T> {
    return this.#client.transport.request<T>({ method: 'GET', path, query, signal });
  }
}

function selection(
  name: string,
  selector: Immutable<LabelSelector> | undefined,
): Readonly<Record<string, string>> {
  return selector === undefined ? {} : { [name]: formatLabelSelector(selector) };
}

export function describe(selector: Immutable<LabelSelector> | undefined): string {
  return selector === undefined ? 'nil' : formatLabelSelector(selector);
}

/** Reports whether the API is not served: the response is not one of its objects. */
function isAbsent(err: unknown): boolean {
  return apierrors.isNotFound(err);
}

function reasonOf(err: unknown, resource: string): string {
  return isAbsent(err)
    ? `the server could not find the requested resource (get ${resource})`
    : errorMessage(err);
}
