"""The edge between Kubernetes objects and Treadle: the models of our four kinds, their CRDs, labels and conditions.

``objects.parse`` reads an object of ours, ``labels`` reads a pod's metadata, ``crds`` writes the CustomResourceDefinitions.
Nothing is imported here, so that ``labels`` costs the hot path no pydantic.
"""
