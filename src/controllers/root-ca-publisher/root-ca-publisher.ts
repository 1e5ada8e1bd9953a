// Maintains a ConfigMap in every namespace with the CA certificates by which pods verify the API
// server.

import {
  type ConfigMap,
  configMaps,
  type Namespace,
  namespaces,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import {
  type Counter,
  exponentialBuckets,
  type Family,
  type Histogram,
  Instruments,
} from '#machinery/metrics/instruments.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { isNamespaceTerminating } from '../pod-control.ts';

export const ROOT_CA_CONFIG_MAP = 'kube-root-ca.crt';
const DESCRIPTION_ANNOTATION = 'kubernetes.io/description';
const DESCRIPTION =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal ' +
  'endpoints such as the internal ' +
  'service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';

export interface RootCaPublisherConfig extends ControllerConfig {
  /** The root CA, as PEM. */
  readonly rootCa: string;
}

export class RootCaPublisher implements Controller {
  readonly name = 'root-ca-certificate-publisher-controller';
  readonly run: Controller['run'];
  readonly #config: RootCaPublisherConfig;
  readonly #data: Readonly<Record<string, string>>;
  readonly #namespaces: SharedInformer<Immutable<Namespace>>;
  readonly #configMaps: SharedInformer<Immutable<ConfigMap>>;
  readonly #syncs: Family<Counter>;
  readonly #durations: Family<Histogram>;

  constructor(config: RootCaPublisherConfig) {
    this.#config = config;
    this.#data = { 'ca.crt': config.rootCa };
    const instruments = config.instruments ?? new Instruments();
    const description = (name: string, help: string) => ({
      name: `root_ca_cert_publisher_${name}`,
      help,
      labels: ['code'],
    });
    this.#syncs = instruments.counter(description('sync_total', 'Looks at a namespace.'));
    this.#durations = instruments.histogram(
      description('sync_duration_seconds', 'How long a look at a namespace took.'),
      exponentialBuckets(0.001, 2, 15),
    );
    const builder = new ControllerBuilder(config, {
      queue: 'root_ca_cert_publisher',
      workers: 1,
      reconcile: (name, signal) => this.#counted(name, signal),
    });
    this.#namespaces = builder.for(namespaces, { predicate: { delete: false } });
    this.#configMaps = builder.watches(configMaps, ({ metadata }) => metadata.namespace, {
      fieldSelector: `metadata.name=${ROOT_CA_CONFIG_MAP}`,
      predicate: { add: false },
    });
    this.run = builder.complete();
  }

  async #counted(namespace: string, signal: AbortSignal): Promise<ReconcileResult> {
    const { clock } = this.#config;
    const begun = clock.monotonic();
    let code = '200';
    try {
      return await this.#reconcile(namespace, signal);
    } catch (error) {
      code = error instanceof apierrors.StatusError ? String(error.status.code ?? 500) : '500';
      throw error;
    } finally {
      this.#syncs.with(code).value++;
      this.#durations.with(code).observe((clock.monotonic() - begun) / 1000);
    }
  }

  async #reconcile(namespace: string, signal: AbortSignal): Promise<ReconcileResult> {
    if (this.#namespaces.lister.getByKey(namespace)?.status.phase !== 'Active') return reconciled;
    const client = this.#config.client.resource(configMaps).namespace(namespace);
    const present = this.#configMaps.lister.get(namespace, ROOT_CA_CONFIG_MAP);
    try {
      if (present === undefined) {
        const metadata = {
          name: ROOT_CA_CONFIG_MAP,
          namespace,
          annotations: { [DESCRIPTION_ANNOTATION]: DESCRIPTION },
        };
        await client.create({ metadata, data: this.#data }, { signal });
      } else if (!this.#isRight(present)) {
        const annotations = {
          ...present.metadata.annotations,
          [DESCRIPTION_ANNOTATION]: DESCRIPTION,
        };
        await client.update(
          { ...present, metadata: { ...present.metadata, annotations }, data: this.#data },
          { signal },
        );
      }
    } catch (error) {
      // The ConfigMap exists, or its namespace is terminating.
      if (
        !apierrors.isAlreadyExists(error) &&
        !apierrors.isNotFound(error) &&
        !isNamespaceTerminating(error)
      )
        throw error;
    }
    return reconciled;
  }

  #isRight({ metadata, data = {} }: Immutable<ConfigMap>): boolean {
    return (
      metadata.annotations?.[DESCRIPTION_ANNOTATION] !== undefined &&
      Object.keys(data).length === 1 &&
      data['ca.crt'] === this.#config.rootCa
    );
  }
}
