// `coxswain/scheduler`: plugins of the scheduler (docs/writing-a-scheduler-plugin.md).

export * from '#scheduler/framework/index.ts';
