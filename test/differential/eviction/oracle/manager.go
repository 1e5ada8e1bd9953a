package eviction

import (
	"context"
	"encoding/json"
	"fmt"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	testingclock "k8s.io/utils/clock/testing"
)

// Plays cases with upstream's eviction manager. README.md here says how it is built: this file is
// added to a copy of the package k8s.io/kubernetes/pkg/kubelet/eviction.

type OracleCase struct {
	Hard, Soft, Grace, MinReclaim map[string]string
	Allocatable                   bool
	TransitionMs                  int64
	MaxGrace                      int64
	ImageFs, Split                bool
	Steps                         []OracleStep
}
type OracleStep struct {
	NowMs  int64
	Before statsapi.Summary
	After  statsapi.Summary
	Pods   []*v1.Pod
}
type OracleKill struct {
	Pod    string
	Grace  int64
	Status v1.PodStatus
}
type OracleResult struct {
	Conditions []string
	Events     []string
	Kills      []OracleKill
	Reclaims   []string
}

type oracleFakes struct {
	step           OracleStep
	reads          int
	result         *OracleResult
	imageFs, split bool
}

func (f *oracleFakes) Get(ctx context.Context, updateStats bool) (*statsapi.Summary, error) {
	f.reads++
	if f.reads == 1 {
		return &f.step.Before, nil
	}
	return &f.step.After, nil
}
func (f *oracleFakes) GetCPUAndMemoryStats(ctx context.Context) (*statsapi.Summary, error) {
	return &f.step.Before, nil
}
func (f *oracleFakes) HasDedicatedImageFs(ctx context.Context) (bool, error)     { return f.imageFs, nil }
func (f *oracleFakes) HasDedicatedContainerFs(ctx context.Context) (bool, error) { return f.split, nil }
func (f *oracleFakes) DeleteUnusedImages(ctx context.Context) error {
	f.result.Reclaims = append(f.result.Reclaims, "images")
	return nil
}
func (f *oracleFakes) DeleteAllUnusedContainers(ctx context.Context) error {
	f.result.Reclaims = append(f.result.Reclaims, "containers")
	return nil
}
func (f *oracleFakes) IsCleanupNeeded() bool { return true }

func (f *oracleFakes) add(object runtime.Object, annotations map[string]string, eventtype, reason, message string) {
	name := "node"
	if pod, ok := object.(*v1.Pod); ok {
		name = pod.Name
	}
	text, _ := json.Marshal(annotations)
	if len(annotations) == 0 {
		text = []byte("{}")
	}
	f.result.Events = append(f.result.Events, fmt.Sprintf("%s %s %s %s %s", name, eventtype, reason, message, text))
}
func (f *oracleFakes) Event(object runtime.Object, eventtype, reason, message string) {
	f.add(object, nil, eventtype, reason, message)
}
func (f *oracleFakes) Eventf(object runtime.Object, eventtype, reason, messageFmt string, args ...interface{}) {
	f.add(object, nil, eventtype, reason, fmt.Sprintf(messageFmt, args...))
}
func (f *oracleFakes) AnnotatedEventf(object runtime.Object, annotations map[string]string, eventtype, reason, messageFmt string, args ...interface{}) {
	f.add(object, annotations, eventtype, reason, fmt.Sprintf(messageFmt, args...))
}
func (f *oracleFakes) WithLogger(logger klog.Logger) record.EventRecorderLogger { return f }

func Oracle(c OracleCase) []OracleResult {
	fakes := &oracleFakes{imageFs: c.ImageFs, split: c.Split}
	var allocatable []string
	if c.Allocatable {
		allocatable = []string{"pods"}
	}
	thresholds, err := ParseThresholdConfig(allocatable, c.Hard, c.Soft, c.Grace, c.MinReclaim)
	if err != nil {
		panic(err)
	}
	clk := testingclock.NewFakeClock(time.UnixMilli(0))
	kill := func(pod *v1.Pod, isEvicted bool, grace *int64, statusFn func(*v1.PodStatus)) error {
		status := v1.PodStatus{}
		statusFn(&status)
		for i := range status.Conditions {
			status.Conditions[i].LastTransitionTime.Reset()
		}
		fakes.result.Kills = append(fakes.result.Kills, OracleKill{pod.Name, *grace, status})
		return nil
	}
	manager, _ := NewManager(fakes, Config{
		MaxPodGracePeriodSeconds: c.MaxGrace,
		PressureTransitionPeriod: time.Duration(c.TransitionMs) * time.Millisecond,
		Thresholds:               thresholds,
	}, kill, fakes, fakes, fakes, &v1.ObjectReference{Kind: "Node", Name: "node"}, clk, true)
	m := manager.(*managerImpl)
	results := []OracleResult{}
	for _, step := range c.Steps {
		clk.SetTime(time.UnixMilli(step.NowMs))
		result := OracleResult{Conditions: []string{}, Events: []string{}, Kills: []OracleKill{}, Reclaims: []string{}}
		fakes.step, fakes.reads, fakes.result = step, 0, &result
		pods := append([]*v1.Pod{}, step.Pods...)
		if _, err := m.synchronize(context.Background(), fakes, func() []*v1.Pod { return pods }); err != nil {
			panic(err)
		}
		for _, condition := range m.nodeConditions {
			result.Conditions = append(result.Conditions, string(condition))
		}
		sort.Strings(result.Conditions)
		results = append(results, result)
	}
	return results
}
