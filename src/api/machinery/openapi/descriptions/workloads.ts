// Descriptions of workload controllers: apps, batch, autoscaling, policy.

import type { Descriptions } from './form.ts';

const SELECTOR =
  'Selects the pods. It must match the labels of the template and cannot be changed.';
const TEMPLATE = 'The pods that are created.';
const MIN_READY = 'How many seconds a new pod must be ready to count as available. Default: 0.';
const COLLISIONS =
  'The number of name collisions. It is part of the hash in the names of dependents.';
const METRIC = { metric: 'The metric.', current: 'The current value.' };

export const workloads: Descriptions = {
  'apps/v1.DeploymentSpec': {
    type: 'The desired state of a Deployment.',
    fields: {
      replicas: 'The number of pods. Default: 1.',
      selector: SELECTOR,
      template: TEMPLATE,
      strategy: 'How old pods are replaced by new ones.',
      minReadySeconds: MIN_READY,
      revisionHistoryLimit:
        'The number of old ReplicaSets that are kept for a rollback. Default: 10.',
      paused: 'Whether changes of the template are not rolled out for now.',
      progressDeadlineSeconds:
        'After this many seconds without progress, a rollout counts as failed. Default: 600.',
    },
  },
  'apps/v1.DeploymentStrategy': {
    type: 'How old pods are replaced by new ones.',
    fields: {
      type: 'RollingUpdate or Recreate. Default: RollingUpdate.',
      rollingUpdate: 'Settings of RollingUpdate.',
    },
  },
  'apps/v1.RollingUpdateDeployment': {
    type: 'The bounds of a rolling update.',
    fields: {
      maxUnavailable:
        'How many pods may be unavailable: a number or a percentage, rounded down. Default: 25%.',
      maxSurge:
        'How many pods may exist beyond the desired number: a number or a percentage, rounded up. Default: 25%.',
    },
  },
  'apps/v1.DeploymentStatus': {
    type: 'The observed state of a Deployment.',
    fields: {
      replicas: 'The number of pods.',
      updatedReplicas: 'The number of pods of the current template.',
      readyReplicas: 'The number of ready pods.',
      availableReplicas: 'The number of pods that have been ready for minReadySeconds.',
      unavailableReplicas: 'The number of pods that are missing for full availability.',
      terminatingReplicas: 'The number of pods that are being deleted.',
      conditions: 'Available, Progressing and ReplicaFailure.',
      collisionCount: COLLISIONS,
    },
  },
  'apps/v1.DeploymentCondition': {
    type: 'A condition of a Deployment.',
    fields: { lastUpdateTime: 'When the condition was last updated.' },
  },
  'apps/v1.StatefulSetUpdateStrategy': {
    type: 'How pods are replaced when the template changes.',
    fields: {
      type: 'RollingUpdate or OnDelete. Default: RollingUpdate.',
      rollingUpdate: 'Settings of RollingUpdate.',
    },
  },
  'apps/v1.RollingUpdateStatefulSetStrategy': {
    type: 'Settings of a rolling update.',
    fields: {
      partition: 'Only pods with this ordinal or a higher one are updated. Default: 0.',
      maxUnavailable:
        'How many pods may be unavailable: a number or a percentage, rounded up. Default: 1.',
    },
  },
  'apps/v1.StatefulSetPersistentVolumeClaimRetentionPolicy': {
    type: 'Treatment of the claims of the volume claim templates.',
    fields: {
      whenDeleted: 'When the StatefulSet is deleted: Retain or Delete. Default: Retain.',
      whenScaled: 'When the StatefulSet is scaled down: Retain or Delete. Default: Retain.',
    },
  },
  'apps/v1.StatefulSetOrdinals': {
    type: 'The numbering of the pods.',
    fields: { start: 'The number of the first pod. Default: 0.' },
  },
  'apps/v1.StatefulSetSpec': {
    type: 'The desired state of a StatefulSet.',
    fields: {
      replicas: 'The number of pods. Default: 1.',
      selector: SELECTOR,
      template: 'The pods that are created. Their names are that of the StatefulSet with a number.',
      volumeClaimTemplates: 'Claims that each pod gets. They outlive the pod.',
      serviceName: 'The headless service that gives the pods DNS names.',
      podManagementPolicy:
        'OrderedReady to start pods one after the other, Parallel to start them at once. Default: OrderedReady.',
      updateStrategy: 'How pods are replaced when the template changes.',
      revisionHistoryLimit: 'The number of old revisions that are kept. Default: 10.',
      minReadySeconds: MIN_READY,
      persistentVolumeClaimRetentionPolicy:
        'Treatment of claims when the StatefulSet is deleted or scaled down.',
      ordinals: 'The numbering of the pods.',
    },
  },
  'apps/v1.StatefulSetStatus': {
    type: 'The observed state of a StatefulSet.',
    fields: {
      replicas: 'The number of pods.',
      readyReplicas: 'The number of ready pods.',
      currentReplicas: 'The number of pods of the current revision.',
      updatedReplicas: 'The number of pods of the update revision.',
      currentRevision: 'The revision of the pods that are not updated yet.',
      updateRevision: 'The revision that pods are updated to.',
      collisionCount: COLLISIONS,
      conditions: 'Conditions of the StatefulSet.',
      availableReplicas: 'The number of pods that have been ready for minReadySeconds.',
    },
  },
  'apps/v1.StatefulSetCondition': { type: 'A condition of a StatefulSet.' },
  'apps/v1.DaemonSetUpdateStrategy': {
    type: 'How pods are replaced when the template changes.',
    fields: {
      type: 'RollingUpdate or OnDelete. Default: RollingUpdate.',
      rollingUpdate: 'Settings of RollingUpdate.',
    },
  },
  'apps/v1.RollingUpdateDaemonSet': {
    type: 'The bounds of a rolling update.',
    fields: {
      maxUnavailable:
        'On how many nodes the pod may be unavailable: a number or a percentage, rounded up. Default: 1.',
      maxSurge: 'On how many nodes a new pod may start beside the old one. Default: 0.',
    },
  },
  'apps/v1.DaemonSetSpec': {
    type: 'The desired state of a DaemonSet.',
    fields: {
      selector: SELECTOR,
      template: 'The pod that runs on each node which its selector and affinity allow.',
      updateStrategy: 'How pods are replaced when the template changes.',
      minReadySeconds: MIN_READY,
      revisionHistoryLimit: 'The number of old revisions that are kept. Default: 10.',
    },
  },
  'apps/v1.DaemonSetStatus': {
    type: 'The observed state of a DaemonSet.',
    fields: {
      currentNumberScheduled: 'The number of nodes that run the pod and should.',
      numberMisscheduled: 'The number of nodes that run the pod and should not.',
      desiredNumberScheduled: 'The number of nodes that should run the pod.',
      numberReady: 'The number of nodes with a ready pod.',
      updatedNumberScheduled: 'The number of nodes with a pod of the current template.',
      numberAvailable: 'The number of nodes with a pod that has been ready for minReadySeconds.',
      numberUnavailable: 'The number of nodes that should run the pod and have none available.',
      collisionCount: COLLISIONS,
      conditions: 'Conditions of the DaemonSet.',
    },
  },
  'apps/v1.DaemonSetCondition': { type: 'A condition of a DaemonSet.' },
  'apps/v1.ControllerRevision': {
    type: 'A past template of a StatefulSet or DaemonSet.',
    fields: { data: 'The template, as a patch.', revision: 'The number of the revision.' },
  },
  'core/v1.ReplicationControllerCondition': { type: 'A condition of a ReplicationController.' },
  'core/v1.PodTemplate': {
    type: 'A template of pods, as an object of its own.',
    fields: { template: TEMPLATE },
  },
  'batch/v1.Job': { type: 'Runs pods until a number of them succeed.' },
  'batch/v1.JobSpec': {
    type: 'The desired state of a Job.',
    fields: {
      parallelism: 'How many pods run at most at the same time. Default: 1.',
      completions: 'How many pods must succeed. Absent: the success of one pod completes the Job.',
      activeDeadlineSeconds: 'How many seconds the Job may be active in total.',
      podFailurePolicy: 'How failed pods are treated, by exit codes and conditions.',
      successPolicy: 'When an indexed Job succeeds before all indexes have.',
      backoffLimit: 'The number of failures after which the Job fails. Default: 6.',
      backoffLimitPerIndex: 'The number of failures after which an index fails. For indexed Jobs.',
      maxFailedIndexes: 'The number of failed indexes after which the Job fails.',
      selector: 'Selects the pods. Set by the server unless manualSelector is true.',
      manualSelector: 'Whether the selector is given by the user.',
      template: 'The pods that are created. Their restart policy is Never or OnFailure.',
      ttlSecondsAfterFinished:
        'How many seconds a finished Job is kept. Absent: it is not deleted automatically.',
      completionMode: 'NonIndexed, or Indexed to give each pod a number. Default: NonIndexed.',
      suspend: 'Whether no pods are run for now. Running ones are deleted.',
      podReplacementPolicy:
        'When failed pods are replaced: TerminatingOrFailed, or Failed to wait until they are gone.',
      managedBy: 'The controller of the Job, if it is not the built-in one.',
    },
  },
  'batch/v1.JobStatus': {
    type: 'The observed state of a Job.',
    fields: {
      conditions: 'Complete, Failed, Suspended, SuccessCriteriaMet and FailureTarget.',
      startTime: 'When the Job was started, or resumed last.',
      completionTime: 'When the Job completed.',
      active: 'The number of pods that run or are pending, and are not being deleted.',
      succeeded: 'The number of pods that succeeded.',
      failed: 'The number of pods that failed.',
      terminating: 'The number of pods that are being deleted.',
      completedIndexes: 'The indexes that succeeded, such as 1,3-5,7.',
      failedIndexes: 'The indexes that failed, such as 1,3-5,7.',
      uncountedTerminatedPods: 'Pods that have ended and are not counted yet.',
      ready: 'The number of ready pods.',
    },
  },
  'batch/v1.UncountedTerminatedPods': {
    type: 'UIDs of pods that have ended and are not counted yet.',
    fields: { succeeded: 'Pods that succeeded.', failed: 'Pods that failed.' },
  },
  'batch/v1.JobCondition': {
    type: 'A condition of a Job.',
    fields: { lastProbeTime: 'When the condition was last checked.' },
  },
  'batch/v1.PodFailurePolicy': {
    type: 'How failed pods of a Job are treated.',
    fields: { rules: 'The rules, in order. The first that matches decides.' },
  },
  'batch/v1.PodFailurePolicyRule': {
    type: 'A rule for failed pods. Either onExitCodes or onPodConditions is set.',
    fields: {
      action: 'FailJob, FailIndex, Ignore to not count the failure, or Count.',
      onExitCodes: 'Exit codes of containers that the rule is for.',
      onPodConditions: 'Conditions of the pod that the rule is for.',
    },
  },
  'batch/v1.PodFailurePolicyOnExitCodesRequirement': {
    type: 'A requirement for exit codes.',
    fields: {
      containerName: 'The container. Absent: any container.',
      operator: 'In or NotIn.',
      values: 'The exit codes. 0 cannot be in a list with In.',
    },
  },
  'batch/v1.PodFailurePolicyOnPodConditionsPattern': {
    type: 'A condition of a pod.',
    fields: {
      type: 'The type of the condition.',
      status: 'The status of the condition. Default: True.',
    },
  },
  'batch/v1.SuccessPolicy': {
    type: 'When a Job succeeds early.',
    fields: { rules: 'The rules. One that matches is enough.' },
  },
  'batch/v1.SuccessPolicyRule': {
    type: 'A rule for early success.',
    fields: {
      succeededIndexes:
        'The indexes of which all, or succeededCount, must succeed, such as 1,3-5,7.',
      succeededCount: 'How many of the indexes must succeed.',
    },
  },
  'batch/v1.JobTemplateSpec': {
    type: 'The Jobs that a CronJob creates.',
    fields: { spec: 'The spec of the Jobs.', metadata: 'Labels and annotations of the Jobs.' },
  },
  'batch/v1.CronJob': { type: 'Creates Jobs by a schedule.' },
  'batch/v1.CronJobSpec': {
    type: 'The schedule and the Jobs.',
    fields: {
      schedule:
        'The schedule in cron form: minute, hour, day of the month, month, day of the week.',
      timeZone:
        'The time zone of the schedule, such as Europe/Berlin. Default: that of the controller manager.',
      startingDeadlineSeconds:
        'How many seconds late a Job may start. Missed runs beyond that are skipped.',
      concurrencyPolicy:
        'Allow, Forbid to skip a run while the last one is active, or Replace to cancel it. Default: Allow.',
      suspend: 'Whether no further Jobs are created. Default: false.',
      jobTemplate: 'The Jobs that are created.',
      successfulJobsHistoryLimit: 'The number of successful Jobs that are kept. Default: 3.',
      failedJobsHistoryLimit: 'The number of failed Jobs that are kept. Default: 1.',
    },
  },
  'batch/v1.CronJobStatus': {
    type: 'The observed state of a CronJob.',
    fields: {
      active: 'The Jobs that run.',
      lastScheduleTime: 'When a Job was last created.',
      lastSuccessfulTime: 'When a Job last succeeded.',
    },
  },
  'autoscaling/v2.HorizontalPodAutoscaler': { type: 'Scales a workload by metrics.' },
  'autoscaling/v2.HorizontalPodAutoscalerSpec': {
    type: 'The target of the scaling, its metrics and its bounds.',
    fields: {
      scaleTargetRef: 'The object that is scaled.',
      minReplicas: 'The lower bound of the number of pods. Default: 1.',
      maxReplicas: 'The upper bound of the number of pods.',
      metrics:
        'The metrics. The one that asks for the most pods decides. Default: 80 % of the requested CPU.',
      behavior: 'How fast the number of pods may change.',
    },
  },
  'autoscaling/v2.CrossVersionObjectReference': {
    type: 'A reference to an object in the same namespace.',
    fields: { name: 'The name of the object.' },
  },
  'autoscaling/v2.MetricSpec': {
    type: 'A metric and its target. The field that the type names is set.',
    fields: {
      type: 'ContainerResource, External, Object, Pods or Resource.',
      object: 'A metric of one object, such as requests per second of an Ingress.',
      pods: 'A metric of each pod, averaged.',
      resource: 'CPU or memory of the pods.',
      containerResource: 'CPU or memory of one container of the pods.',
      external: 'A metric that belongs to no object of the cluster, such as the length of a queue.',
    },
  },
  'autoscaling/v2.HorizontalPodAutoscalerBehavior': {
    type: 'How fast the number of pods may change.',
    fields: {
      scaleUp: 'Rules for scaling up. Default: at most 4 pods or twice as many in 15 seconds.',
      scaleDown: 'Rules for scaling down. Default: to the minimum, after 300 seconds of stability.',
    },
  },
  'autoscaling/v2.HPAScalingRules': {
    type: 'Rules for one direction.',
    fields: {
      stabilizationWindowSeconds:
        'For how many seconds past recommendations are considered, to avoid flapping. From 0 to 3600.',
      selectPolicy: 'Which policy applies: Max, Min, or Disabled. Default: Max.',
      policies: 'Limits of the change.',
      tolerance:
        'The ratio by which a metric may differ from its target without a change. Default: 0.1.',
    },
  },
  'autoscaling/v2.HPAScalingPolicy': {
    type: 'A limit of the change.',
    fields: {
      type: 'Pods or Percent.',
      value: 'How many pods, or how much percent.',
      periodSeconds: 'The time in which the change is allowed, at most 1800 seconds.',
    },
  },
  'autoscaling/v2.ObjectMetricSource': {
    type: 'A metric of one object.',
    fields: { describedObject: 'The object.', target: 'The target value.', metric: 'The metric.' },
  },
  'autoscaling/v2.PodsMetricSource': {
    type: 'A metric of each pod.',
    fields: { metric: 'The metric.', target: 'The target of the average.' },
  },
  'autoscaling/v2.ResourceMetricSource': {
    type: 'A resource of the pods.',
    fields: { name: 'cpu or memory.', target: 'The target value.' },
  },
  'autoscaling/v2.ContainerResourceMetricSource': {
    type: 'A resource of one container.',
    like: 'autoscaling/v2.ResourceMetricSource',
    fields: { container: 'The name of the container.' },
  },
  'autoscaling/v2.ExternalMetricSource': {
    type: 'An external metric.',
    fields: { metric: 'The metric.', target: 'The target value.' },
  },
  'autoscaling/v2.MetricIdentifier': {
    type: 'The name of a metric.',
    fields: {
      name: 'The name.',
      selector: 'Labels that select one of several series of that name.',
    },
  },
  'autoscaling/v2.MetricTarget': {
    type: 'The target of a metric. One of the values is set.',
    fields: {
      type: 'Utilization, Value or AverageValue.',
      value: 'The target of the metric itself.',
      averageValue: 'The target of the metric divided by the number of pods.',
      averageUtilization: 'The target as a percentage of the requested amount. For resources only.',
    },
  },
  'autoscaling/v2.HorizontalPodAutoscalerStatus': {
    type: 'The observed state of an autoscaler.',
    fields: {
      lastScaleTime: 'When the number of pods was last changed.',
      currentReplicas: 'The number of pods at the last look.',
      desiredReplicas: 'The number of pods that the autoscaler last asked for.',
      currentMetrics: 'The values of the metrics at the last look.',
      conditions: 'AbleToScale, ScalingActive and ScalingLimited.',
    },
  },
  'autoscaling/v2.HorizontalPodAutoscalerCondition': { type: 'A condition of an autoscaler.' },
  'autoscaling/v2.MetricStatus': {
    type: 'The last value of a metric.',
    like: 'autoscaling/v2.MetricSpec',
  },
  'autoscaling/v2.ObjectMetricStatus': {
    type: 'The last value of a metric of an object.',
    fields: { ...METRIC, describedObject: 'The object.' },
  },
  'autoscaling/v2.PodsMetricStatus': {
    type: 'The last value of a metric of pods.',
    fields: METRIC,
  },
  'autoscaling/v2.ResourceMetricStatus': {
    type: 'The last value of a resource.',
    fields: { name: 'cpu or memory.', current: 'The current value.' },
  },
  'autoscaling/v2.ContainerResourceMetricStatus': {
    type: 'The last value of a resource of a container.',
    fields: {
      name: 'cpu or memory.',
      current: 'The current value.',
      container: 'The name of the container.',
    },
  },
  'autoscaling/v2.ExternalMetricStatus': {
    type: 'The last value of an external metric.',
    fields: METRIC,
  },
  'autoscaling/v2.MetricValueStatus': {
    type: 'The last value of a metric.',
    fields: {
      value: 'The value.',
      averageValue: 'The value divided by the number of pods.',
      averageUtilization: 'The value as a percentage of the requested amount.',
    },
  },
  'autoscaling/v1.CrossVersionObjectReference': {
    type: 'A reference to an object in the same namespace.',
    like: 'autoscaling/v2.CrossVersionObjectReference',
  },
  'autoscaling/v1.HorizontalPodAutoscaler': { type: 'Scales a workload by CPU utilization.' },
  'autoscaling/v1.HorizontalPodAutoscalerSpec': {
    type: 'The target of the scaling and its bounds.',
    like: 'autoscaling/v2.HorizontalPodAutoscalerSpec',
    fields: {
      targetCPUUtilizationPercentage:
        'The target of the average CPU utilization, as a percentage of the requested CPU.',
    },
  },
  'autoscaling/v1.HorizontalPodAutoscalerStatus': {
    type: 'The observed state of an autoscaler.',
    like: 'autoscaling/v2.HorizontalPodAutoscalerStatus',
    fields: {
      currentCPUUtilizationPercentage:
        'The average CPU utilization, as a percentage of the requested CPU.',
    },
  },
  'autoscaling/v1.Scale': { type: 'The number of pods of a workload.' },
  'autoscaling/v1.ScaleSpec': {
    type: 'The desired number of pods.',
    fields: { replicas: 'The number of pods.' },
  },
  'autoscaling/v1.ScaleStatus': {
    type: 'The observed number of pods.',
    fields: {
      replicas: 'The number of pods.',
      selector: 'The label selector of the pods, as text.',
    },
  },
  'autoscaling/v1.MetricSpec': {
    type: 'A metric and its target.',
    like: 'autoscaling/v2.MetricSpec',
  },
  'autoscaling/v1.MetricStatus': {
    type: 'The last value of a metric.',
    like: 'autoscaling/v2.MetricSpec',
  },
  'autoscaling/v1.HorizontalPodAutoscalerCondition': { type: 'A condition of an autoscaler.' },
  'autoscaling/v1.ObjectMetricSource': {
    type: 'A metric of one object.',
    fields: {
      target: 'The object.',
      metricName: 'The name of the metric.',
      targetValue: 'The target of the metric.',
      selector: 'Labels that select a series.',
      averageValue: 'The target of the metric divided by the number of pods.',
    },
  },
  'autoscaling/v1.PodsMetricSource': {
    type: 'A metric of each pod.',
    fields: {
      metricName: 'The name of the metric.',
      targetAverageValue: 'The target of the average.',
      selector: 'Labels that select a series.',
    },
  },
  'autoscaling/v1.ResourceMetricSource': {
    type: 'A resource of the pods.',
    fields: {
      name: 'cpu or memory.',
      targetAverageUtilization: 'The target as a percentage of the requested amount.',
      targetAverageValue: 'The target of the average.',
    },
  },
  'autoscaling/v1.ContainerResourceMetricSource': {
    type: 'A resource of one container.',
    like: 'autoscaling/v1.ResourceMetricSource',
    fields: { container: 'The name of the container.' },
  },
  'autoscaling/v1.ExternalMetricSource': {
    type: 'An external metric.',
    fields: {
      metricName: 'The name of the metric.',
      metricSelector: 'Labels that select a series.',
      targetValue: 'The target of the metric.',
      targetAverageValue: 'The target of the metric divided by the number of pods.',
    },
  },
  'autoscaling/v1.ObjectMetricStatus': {
    type: 'The last value of a metric of an object.',
    like: 'autoscaling/v1.ObjectMetricSource',
    fields: {
      currentValue: 'The value.',
      averageValue: 'The value divided by the number of pods.',
    },
  },
  'autoscaling/v1.PodsMetricStatus': {
    type: 'The last value of a metric of pods.',
    like: 'autoscaling/v1.PodsMetricSource',
    fields: { currentAverageValue: 'The average.' },
  },
  'autoscaling/v1.ResourceMetricStatus': {
    type: 'The last value of a resource.',
    fields: {
      name: 'cpu or memory.',
      currentAverageUtilization: 'The average as a percentage of the requested amount.',
      currentAverageValue: 'The average.',
    },
  },
  'autoscaling/v1.ContainerResourceMetricStatus': {
    type: 'The last value of a resource of a container.',
    like: 'autoscaling/v1.ResourceMetricStatus',
    fields: { container: 'The name of the container.' },
  },
  'autoscaling/v1.ExternalMetricStatus': {
    type: 'The last value of an external metric.',
    like: 'autoscaling/v1.ExternalMetricSource',
    fields: {
      currentValue: 'The value.',
      currentAverageValue: 'The value divided by the number of pods.',
    },
  },
  'policy/v1.PodDisruptionBudget': {
    type: 'How many pods of a set may be evicted at the same time.',
  },
  'policy/v1.PodDisruptionBudgetSpec': {
    type: 'The pods and the bound. Either minAvailable or maxUnavailable is set.',
    fields: {
      minAvailable: 'How many of the pods must stay available: a number or a percentage.',
      selector: 'Selects the pods. Empty: all pods of the namespace.',
      maxUnavailable: 'How many of the pods may be unavailable: a number or a percentage.',
      unhealthyPodEvictionPolicy:
        'Which pods that are not ready may be evicted: IfHealthyBudget or AlwaysAllow. Default: IfHealthyBudget.',
    },
  },
  'policy/v1.PodDisruptionBudgetStatus': {
    type: 'The observed state of a budget.',
    fields: {
      disruptedPods:
        'Pods whose eviction was allowed and that are not being deleted yet, with the time.',
      disruptionsAllowed: 'How many evictions are allowed now.',
      currentHealthy: 'The number of ready pods.',
      desiredHealthy: 'The number of pods that must be ready.',
      expectedPods: 'The number of pods that the budget counts with.',
      conditions: 'Whether disruptions are allowed.',
    },
  },
  'policy/v1.Eviction': {
    type: 'A request to evict a pod, if its disruption budgets allow it.',
    fields: {
      deleteOptions: 'Options of the deletion.',
      metadata: 'The name and namespace of the pod.',
    },
  },
};
