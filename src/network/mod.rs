//! What a model is made of: a program of layers over named tensors.
