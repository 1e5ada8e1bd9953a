// The metrics of a component as one text: the recorded metrics of its parts, and the metrics that
// upstream's components publish about themselves.

import { gaugeText, type Description } from './instruments.ts';

/** The labels of kubernetes_build_info. */
export interface BuildInfo {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
  readonly gitCommit: string;
  readonly gitTreeState: string;
  readonly buildDate: string;
  readonly goVersion: string;
  readonly compiler: string;
  readonly platform: string;
}

/**
 * Metrics that upstream keeps compatible between releases (STABLE or BETA). All others are ALPHA
 * and may change. test/scenarios/metrics compares this list with upstream's.
 */
const STABLE: ReadonlySet<string> = new Set([
  'apiserver_admission_controller_admission_duration_seconds',
  'apiserver_admission_step_admission_duration_seconds',
  'apiserver_admission_webhook_admission_duration_seconds',
  'apiserver_current_inflight_requests',
  'apiserver_longrunning_requests',
  'apiserver_request_duration_seconds',
  'apiserver_request_total',
  'apiserver_requested_deprecated_apis',
  'apiserver_response_sizes',
  'apiserver_storage_objects',
  'apiserver_storage_size_bytes',
  'container_cpu_usage_seconds_total',
  'container_memory_working_set_bytes',
  'container_start_time_seconds',
  'cronjob_controller_job_creation_skew_duration_seconds',
  'job_controller_job_pods_finished_total',
  'job_controller_job_sync_duration_seconds',
  'job_controller_job_syncs_total',
  'job_controller_jobs_finished_total',
  'kube_pod_resource_limit',
  'kube_pod_resource_request',
  'kubernetes_healthcheck',
  'kubernetes_healthchecks_total',
  'node_collector_evictions_total',
  'node_cpu_usage_seconds_total',
  'node_memory_working_set_bytes',
  'pod_cpu_usage_seconds_total',
  'pod_memory_working_set_bytes',
  'resource_scrape_error',
  'scheduler_framework_extension_point_duration_seconds',
  'scheduler_pending_pods',
  'scheduler_pod_scheduling_attempts',
  'scheduler_preemption_attempts_total',
  'scheduler_preemption_victims',
  'scheduler_queue_incoming_pods_total',
  'scheduler_schedule_attempts_total',
  'scheduler_scheduling_attempt_duration_seconds',
]);
const BETA: ReadonlySet<string> = new Set([
  'apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds',
  'apiserver_authentication_config_controller_automatic_reloads_total',
  'apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds',
  'apiserver_authorization_config_controller_automatic_reloads_total',
  'apiserver_cel_compilation_duration_seconds',
  'apiserver_cel_evaluation_duration_seconds',
  'apiserver_flowcontrol_current_executing_requests',
  'apiserver_flowcontrol_current_executing_seats',
  'apiserver_flowcontrol_current_inqueue_requests',
  'apiserver_flowcontrol_dispatched_requests_total',
  'apiserver_flowcontrol_nominal_limit_seats',
  'apiserver_flowcontrol_rejected_requests_total',
  'apiserver_flowcontrol_request_wait_duration_seconds',
  'apiserver_storage_events_received_total',
  'apiserver_validating_admission_policy_check_duration_seconds',
  'apiserver_validating_admission_policy_check_total',
  'apiserver_watch_list_duration_seconds',
  'disabled_metrics_total',
  'hidden_metrics_total',
  'kubelet_image_volume_mounted_errors_total',
  'kubelet_image_volume_mounted_succeed_total',
  'kubelet_image_volume_requested_total',
  'kubernetes_build_info',
  'prober_probe_total',
  'registered_metrics_total',
  'running_managed_controllers',
  'scheduler_pod_scheduling_sli_duration_seconds',
  'workqueue_adds_total',
  'workqueue_depth',
  'workqueue_longest_running_processor_seconds',
  'workqueue_queue_duration_seconds',
  'workqueue_retries_total',
  'workqueue_unfinished_work_seconds',
  'workqueue_work_duration_seconds',
]);

export type Stability = 'STABLE' | 'BETA' | 'ALPHA';

export function stabilityOf(metric: string): Stability {
  if (STABLE.has(metric)) return 'STABLE';
  return BETA.has(metric) ? 'BETA' : 'ALPHA';
}

const BUILD_INFO: Description = {
  name: 'kubernetes_build_info',
  help: 'Always 1. The labels describe the build.',
  labels: [
    'major',
    'minor',
    'git_version',
    'git_commit',
    'git_tree_state',
    'build_date',
    'go_version',
    'compiler',
    'platform',
  ],
};

/**
 * Returns all metrics of a component. `recorded`: the metrics of its parts, in Prometheus' text
 * form.
 */
export function componentMetricsText(recorded: string, build: BuildInfo): string {
  const {
    major,
    minor,
    gitVersion,
    gitCommit,
    gitTreeState,
    buildDate,
    goVersion,
    compiler,
    platform,
  } = build;
  const values = [
    major,
    minor,
    gitVersion,
    gitCommit,
    gitTreeState,
    buildDate,
    goVersion,
    compiler,
    platform,
  ];
  const text = recorded + gaugeText(BUILD_INFO, [[values, 1]]);
  return withStability(text + registrationText(text));
}

/**
 * Returns the number of metrics by stability. Metrics cannot be hidden or disabled, so those
 * counters stay at zero.
 */
function registrationText(text: string): string {
  const counts: Record<Stability, number> = { STABLE: 0, BETA: 3, ALPHA: 0 };
  for (const [, name = ''] of text.matchAll(/^# TYPE (\S+) /gm)) counts[stabilityOf(name)]++;
  const lines = Object.entries(counts).map(
    ([level, count]) =>
      `registered_metrics_total{deprecated_version="",stability_level="${level}"} ${count}\n`,
  );
  return (
    '# HELP registered_metrics_total Metrics that are published, by stability.\n' +
    `# TYPE registered_metrics_total counter\n${lines.join('')}` +
    '# HELP hidden_metrics_total Metrics that are hidden because they are deprecated.\n' +
    '# TYPE hidden_metrics_total counter\nhidden_metrics_total 0\n' +
    '# HELP disabled_metrics_total Metrics that are disabled.\n' +
    '# TYPE disabled_metrics_total counter\ndisabled_metrics_total 0\n'
  );
}

/**
 * Returns the text with the stability of each metric at the start of its help, as upstream has it.
 * For texts outside of componentMetricsText. Families of cAdvisor are not Kubernetes' own and have
 * no stability.
 */
export function withStability(text: string): string {
  return text.replace(/^# HELP (\S+) /gm, (line, name: string) => {
    const stability = stabilityOf(name);
    return stability === 'ALPHA' ? line : `${line}[${stability}] `;
  });
}
