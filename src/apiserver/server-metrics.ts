// The metrics of the server's parts.

import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Storage } from '#storage/interface.ts';
import { AdmissionMetrics } from './admission/metrics.ts';
import { PodSecurityMetrics } from './admission/pod-security/metrics.ts';
import { CelMetrics } from './admission/policy/cel-metrics.ts';
import { PolicyMetrics } from './admission/policy/metrics.ts';
import { WebhookMetrics } from './admission/webhook/index.ts';
import { ConversionMetrics } from './extensions/conversion/index.ts';
import { AuditMetrics } from './audit/index.ts';
import { AuthorizationMetrics } from './authorization/metrics.ts';
import { RequestMetrics } from './endpoints/request-metrics.ts';
import { CertificateRequestMetrics } from './kinds/certificates/request-metrics.ts';
import { StorageMetrics } from './registry/storage-metrics.ts';
import { CertificateMetrics } from './webhooks/client/index.ts';

export interface ServerMetricsConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly storage: Storage;
  /** The version of Kubernetes. */
  readonly version: string;
}

export class ServerMetrics {
  readonly requests: RequestMetrics;
  readonly storage: StorageMetrics;
  readonly audit = new AuditMetrics();
  readonly authorization = new AuthorizationMetrics();
  readonly admission = new AdmissionMetrics();
  readonly cel: CelMetrics;
  readonly conversions: ConversionMetrics;
  readonly policies = {
    validating: new PolicyMetrics('validating'),
    mutating: new PolicyMetrics('mutating'),
  };
  readonly webhooks = new WebhookMetrics();
  readonly webhookCertificates = new CertificateMetrics('apiserver_webhooks');
  readonly podSecurity: PodSecurityMetrics;
  readonly certificateRequests = new CertificateRequestMetrics();

  constructor({ clock, logger, storage, version }: ServerMetricsConfig) {
    this.requests = new RequestMetrics({ clock });
    this.storage = new StorageMetrics({ storage, logger });
    this.cel = new CelMetrics({ clock });
    this.conversions = new ConversionMetrics({ clock });
    this.podSecurity = new PodSecurityMetrics({ version });
  }

  /** The metrics of each part, in Prometheus' text format. */
  get texts(): readonly (() => string | Promise<string>)[] {
    return [
      () => this.requests.text(),
      () => this.storage.text(),
      () => this.audit.text() + this.authorization.text(),
      () => this.admission.text() + this.webhooks.text() + this.webhookCertificates.text(),
      () => this.cel.text() + this.conversions.text(),
      () =>
        this.policies.mutating.text() + this.policies.validating.text() + this.podSecurity.text(),
      () => this.certificateRequests.text(),
    ];
  }
}
