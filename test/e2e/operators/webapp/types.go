// Command webapp is an operator for the end-to-end tests, written with controller-runtime as operators usually are: a kind in two
// versions, a reconciler with a finalizer, owner references and status conditions, and webhooks for defaults, validation and conversion.
package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	storageVersion = schema.GroupVersion{Group: "apps.operator.example.com", Version: "v1"}
	olderVersion   = schema.GroupVersion{Group: "apps.operator.example.com", Version: "v1beta1"}
)

// WebApp is a web application that runs as a Deployment. It is the version that is stored.
type WebApp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WebAppSpec   `json:"spec"`
	Status            WebAppStatus `json:"status,omitempty"`
}

// WebAppSpec is what the user wants.
type WebAppSpec struct {
	Image       string `json:"image"`
	Replicas    int32  `json:"replicas"`
	MaxReplicas int32  `json:"maxReplicas,omitempty"`
	// Tier is set once; a rule of the definition holds it.
	Tier string `json:"tier,omitempty"`
}

// WebAppStatus is what the operator has observed.
type WebAppStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Replicas           int32              `json:"replicas"`
	Selector           string             `json:"selector,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// WebAppList is a list of WebApp.
type WebAppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WebApp `json:"items"`
}

// Hub marks the version that other versions are converted to.
func (*WebApp) Hub() {}

// OlderWebApp is the version v1beta1. It calls the number of replicas "size".
type OlderWebApp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              OlderWebAppSpec `json:"spec"`
	Status            WebAppStatus    `json:"status,omitempty"`
}

// OlderWebAppSpec is the spec of v1beta1.
type OlderWebAppSpec struct {
	Image   string `json:"image"`
	Size    int32  `json:"size"`
	MaxSize int32  `json:"maxSize,omitempty"`
	Tier    string `json:"tier,omitempty"`
}

// OlderWebAppList is a list of OlderWebApp.
type OlderWebAppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []OlderWebApp `json:"items"`
}

func addToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(storageVersion, &WebApp{}, &WebAppList{})
	scheme.AddKnownTypeWithName(olderVersion.WithKind("WebApp"), &OlderWebApp{})
	scheme.AddKnownTypeWithName(olderVersion.WithKind("WebAppList"), &OlderWebAppList{})
	metav1.AddToGroupVersion(scheme, storageVersion)
	metav1.AddToGroupVersion(scheme, olderVersion)
}

func copyStatus(status WebAppStatus) WebAppStatus {
	copied := status
	copied.Conditions = nil
	for _, condition := range status.Conditions {
		copied.Conditions = append(copied.Conditions, *condition.DeepCopy())
	}
	return copied
}

// DeepCopyObject implements runtime.Object.
func (app *WebApp) DeepCopyObject() runtime.Object {
	return &WebApp{TypeMeta: app.TypeMeta, ObjectMeta: *app.ObjectMeta.DeepCopy(), Spec: app.Spec, Status: copyStatus(app.Status)}
}

// DeepCopyObject implements runtime.Object.
func (list *WebAppList) DeepCopyObject() runtime.Object {
	copied := &WebAppList{TypeMeta: list.TypeMeta, ListMeta: *list.ListMeta.DeepCopy()}
	for index := range list.Items {
		copied.Items = append(copied.Items, *list.Items[index].DeepCopyObject().(*WebApp))
	}
	return copied
}

// DeepCopyObject implements runtime.Object.
func (app *OlderWebApp) DeepCopyObject() runtime.Object {
	return &OlderWebApp{TypeMeta: app.TypeMeta, ObjectMeta: *app.ObjectMeta.DeepCopy(), Spec: app.Spec, Status: copyStatus(app.Status)}
}

// DeepCopyObject implements runtime.Object.
func (list *OlderWebAppList) DeepCopyObject() runtime.Object {
	copied := &OlderWebAppList{TypeMeta: list.TypeMeta, ListMeta: *list.ListMeta.DeepCopy()}
	for index := range list.Items {
		copied.Items = append(copied.Items, *list.Items[index].DeepCopyObject().(*OlderWebApp))
	}
	return copied
}
